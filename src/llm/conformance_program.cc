// What the program does with a call: which slots it writes, what it may see, and that chunks equal single tokens.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/dtype.h"
#include "llm/conformance_suite.h"

namespace pteron::llm {
namespace {

constexpr size_t kWarmUp = 48;  // most tokens that are fed before a call that is looked at

// A manager that is fed by hand, at any position.
class Track {
 public:
  static Result<Track> create(const Suite& suite, const MethodSource& source) {
    PTERON_ASSIGN(std::unique_ptr<IoManager> manager, suite.manager(source));
    return Track(suite, std::move(manager));
  }
  IoManager& manager() { return *manager_; }

  // Caches as after a reset, then the tokens before `position`, at most `kWarmUp` of them, one by one.
  Status warm_up(size_t position) {
    manager_->reset();
    const size_t begin = position - std::min(position, kWarmUp);
    for (size_t p = begin; p < position; ++p) PTERON_TRY(run(Step::decode, p, 1).status());
    return {};
  }
  // The logits of the last of `n` rows; tokens are a function of the position.
  Result<std::vector<float>> run(Step step, size_t position, size_t n) {
    std::vector<TokenId> call(n);
    for (size_t r = 0; r < n; ++r) call[r] = text_[(position + r) % text_.size()];
    PTERON_TRY(manager_->run(step, call, position));
    PTERON_ASSIGN(const LogitsView logits, manager_->logits(n - 1));
    for (const float value : logits) {
      if (!std::isfinite(value)) return Status::error(Code::invalid_data, "logits at position " + std::to_string(position) + " are not finite");
    }
    return copy(logits);
  }

 private:
  Track(const Suite& suite, std::unique_ptr<IoManager> manager) : manager_(std::move(manager)), text_(suite.tokens(997)) {}
  std::unique_ptr<IoManager> manager_;
  std::vector<TokenId> text_;
};

// One slot of one head of a cache.
std::span<std::byte> slot_bytes(const CacheView& cache, size_t head, size_t slot) {
  const size_t slots = static_cast<size_t>(cache.tensor.sizes[2]), bytes = static_cast<size_t>(cache.tensor.sizes[3]) * element_size(cache.tensor.dtype);
  return {static_cast<std::byte*>(cache.tensor.data) + (head * slots + slot) * bytes, bytes};
}

std::vector<float> slot_values(const CacheView& cache, size_t slot) {
  std::vector<float> out;
  for (size_t h = 0; h < static_cast<size_t>(cache.tensor.sizes[1]); ++h) {
    const auto bytes = slot_bytes(cache, h, slot);
    for (size_t i = 0; i < bytes.size(); i += element_size(cache.tensor.dtype)) {
      if (cache.tensor.dtype == ScalarType::Float) {
        out.push_back(load_unaligned<float>(bytes.data() + i));
      } else {
        const auto bits = load_unaligned<uint16_t>(bytes.data() + i);
        out.push_back(cache.tensor.dtype == ScalarType::Half ? half_to_float(bits) : bfloat16_to_float(bits));
      }
    }
  }
  return out;
}

// Fills a slot of all heads with large finite numbers of both signs.
void poison_slot(const CacheView& cache, size_t slot, float large) {
  for (size_t h = 0; h < static_cast<size_t>(cache.tensor.sizes[1]); ++h) {
    const auto bytes = slot_bytes(cache, h, slot);
    float value = large;
    for (size_t i = 0; i < bytes.size(); i += element_size(cache.tensor.dtype), value = -value) {
      if (cache.tensor.dtype == ScalarType::Float) {
        store_unaligned(bytes.data() + i, value);
      } else {
        store_unaligned(bytes.data() + i, cache.tensor.dtype == ScalarType::Half ? float_to_half(value) : float_to_bfloat16(value));
      }
    }
  }
}

Geometry geometry_of(const Suite& suite, const CacheView& cache) { return Geometry::of(suite.contract().layers[cache.layer]); }
std::string name_of(const CacheView& cache) { return std::string(cache.key ? "key" : "value") + " cache of layer " + std::to_string(cache.layer); }

// Positions that are worth looking at: the start, the window's and the ring's edges, far beyond, the end of the context.
std::vector<size_t> positions(const Suite& suite, size_t rows) {
  std::vector<size_t> out = {0, 1, rows, 3 * rows + 1};
  if (const LayerSpec* ring = suite.ring()) {
    const size_t window = static_cast<size_t>(ring->window), slots = static_cast<size_t>(ring->slots);
    for (const size_t p : {window - 1, window, window + 1, slots - 1, slots, slots + 1, 2 * slots + 3}) out.push_back(p);
  }
  const size_t last = suite.capacity() - rows;
  out.push_back(last);
  std::erase_if(out, [&](size_t p) { return p > last; });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// All numbers of valid rows, or where there are many the edges and some between.
std::vector<size_t> valid_rows(size_t rows) {
  std::vector<size_t> out;
  for (size_t n = 1; n <= rows; ++n) {
    if (rows <= 16 || n <= 3 || n + 1 >= rows || n % (rows / 4) == 0) out.push_back(n);
  }
  return out;
}

bool too_long(const Suite& suite, size_t calls, Verdict& verdict) {
  const double seconds = suite.seconds_for(1) * static_cast<double>(calls);
  if (seconds <= suite.options().seconds) return false;
  verdict = not_applicable("would take about " + std::to_string(static_cast<int>(seconds)) + " s");
  return true;
}

// The first row of `n` that ended at `position` whose keys or values differ between two managers, in words; empty where there is none.
std::string caches_apart(const Suite& suite, IoManager& a, IoManager& b, size_t position, size_t n) {
  std::string apart;
  const auto of_a = a.caches(), of_b = b.caches();
  for (size_t c = 0; c < of_a.size(); ++c) {
    for (size_t r = 0; r < n; ++r) {
      const size_t slot = geometry_of(suite, of_a[c]).slot_of(position + r);
      if (!suite.near(slot_values(of_a[c], slot), slot_values(of_b[c], slot), apart)) return name_of(of_a[c]) + " row " + std::to_string(r) + ": " + apart;
    }
  }
  return {};
}

enum class Look : uint8_t { last_row, every_row, caches };

// What differs between a call of `n` rows and single tokens, whose logits are `expected`; empty where nothing does.
Result<std::string> call_apart(const Suite& suite, Track& single, Track& chunked, Step step, Look look, size_t position, const std::vector<std::vector<float>>& expected, size_t n) {
  PTERON_ASSIGN(const std::vector<float> logits, chunked.run(step, position, n));
  if (look == Look::caches) return caches_apart(suite, chunked.manager(), single.manager(), position, n);
  std::string apart;
  if (!suite.near(logits, expected[n - 1], apart)) return apart;
  for (size_t r = 0; look == Look::every_row && r + 1 < n; ++r) {
    PTERON_ASSIGN(const LogitsView row, chunked.manager().logits(r));
    if (!suite.near(row, expected[r], apart)) return "row " + std::to_string(r) + ": " + apart;
  }
  return std::string();
}

// Every call of several rows against single tokens.
Verdict compare_calls(const Suite& suite, Step step, size_t rows, Look look) {
  Verdict verdict;
  const std::vector<size_t> where = positions(suite, rows);
  if (too_long(suite, where.size() * (2 * kWarmUp + 4 * rows), verdict)) return verdict;
  PTERON_CASE(Track single, Track::create(suite, suite.source()));
  PTERON_CASE(Track chunked, Track::create(suite, suite.source()));
  for (const size_t position : where) {
    PTERON_CASE_OK(single.warm_up(position));
    std::vector<std::vector<float>> expected;
    for (size_t r = 0; r < rows; ++r) {
      PTERON_CASE(std::vector<float> logits, single.run(Step::decode, position + r, 1));
      expected.push_back(std::move(logits));
    }
    PTERON_CASE_OK(chunked.warm_up(position));
    for (const size_t n : valid_rows(rows)) {
      PTERON_CASE(const std::string apart, call_apart(suite, single, chunked, step, look, position, expected, n));
      if (!apart.empty()) return failed(std::to_string(n) + " of " + std::to_string(rows) + " rows at position " + std::to_string(position) + ": " + apart);
    }
  }
  return passed(std::to_string(where.size()) + " positions");
}

Verdict chunks(const Suite& suite) {
  return suite.rows() == 0 ? not_applicable("no prefill method") : compare_calls(suite, Step::prefill, suite.rows(), Look::last_row);
}
Verdict chunk_caches(const Suite& suite) {
  return suite.rows() == 0 ? not_applicable("no prefill method") : compare_calls(suite, Step::prefill, suite.rows(), Look::caches);
}
Verdict verify(const Suite& suite) {
  if (!suite.contract().verify) return not_applicable("no verify method");
  const auto rows = static_cast<size_t>(suite.contract().verify->rows);
  const Verdict logits = compare_calls(suite, Step::verify, rows, Look::every_row);
  return logits.outcome == Outcome::ok ? compare_calls(suite, Step::verify, rows, Look::caches) : logits;
}

// After one call on zeroed caches, only the slots of its rows hold anything, and those of the valid rows do.
Verdict writes(const Suite& suite) {
  PTERON_CASE(Track track, Track::create(suite, suite.source()));
  for (const Step step : {Step::decode, Step::prefill}) {
    const size_t rows = step == Step::decode ? 1 : suite.rows();
    if (rows == 0) continue;
    for (const size_t position : positions(suite, rows)) {
      track.manager().reset();
      PTERON_CASE_OK(track.run(step, position, rows).status());
      for (const CacheView& cache : track.manager().caches()) {
        const Geometry geometry = geometry_of(suite, cache);
        for (size_t slot = 0; slot < geometry.slots; ++slot) {
          const auto held = geometry.position_in(slot, position + rows);
          const bool expected = held && *held >= position;
          bool found = false;
          for (size_t h = 0; h < static_cast<size_t>(cache.tensor.sizes[1]); ++h) {
            const auto bytes = slot_bytes(cache, h, slot);
            found = found || std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; });
          }
          if (found == expected) continue;
          return failed(name_of(cache) + (found ? " was written" : " was not written") + " at slot " + std::to_string(slot) + " by a call of " + std::to_string(rows) +
                        " rows at position " + std::to_string(position));
        }
      }
    }
  }
  return passed();
}

// Ids and padded slots behind the valid rows change nothing: other ids there give the same bits.
Verdict padding(const Suite& suite) {
  const size_t rows = suite.rows();
  if (rows == 0) return not_applicable("no prefill method");
  AuditedSource meddler(suite.source(), suite.contract());
  size_t valid = rows;
  int64_t other = -1;  // the id put behind the valid rows, or -1
  meddler.before = [&](const AuditedBuffers& buffers) {
    for (size_t r = valid; buffers.role == MethodRole::prefill && other >= 0 && r < rows; ++r) buffers.set_id(r, other);
    return Status();
  };
  PTERON_CASE(Track track, Track::create(suite, meddler));
  for (const size_t position : positions(suite, rows)) {
    for (const size_t n : {size_t{1}, rows - 1}) {
      std::vector<std::vector<float>> results;
      valid = n;
      for (const int64_t id : {int64_t{-1}, suite.contract().vocab_size - 1, suite.contract().vocab_size / 2}) {
        other = id;
        PTERON_CASE_OK(track.warm_up(position));
        PTERON_CASE(std::vector<float> logits, track.run(Step::prefill, position, n));
        for (const CacheView& cache : track.manager().caches()) {
          for (size_t r = 0; r < n; ++r) {
            const auto values = slot_values(cache, geometry_of(suite, cache).slot_of(position + r));
            logits.insert(logits.end(), values.begin(), values.end());
          }
        }
        results.push_back(std::move(logits));
        if (results.front() != results.back()) {
          return failed("the ids behind " + std::to_string(n) + " valid rows at position " + std::to_string(position) + " change logits or caches");
        }
      }
    }
  }
  return passed();
}

// Large numbers in slots that the contract hides change nothing, whichever layer they are in.
Verdict hidden_slots(const Suite& suite) {
  PTERON_CASE(Track track, Track::create(suite, suite.source()));
  for (const Step step : {Step::decode, Step::prefill}) {
    const size_t rows = step == Step::decode ? 1 : suite.rows();
    if (rows == 0) continue;
    for (const size_t position : positions(suite, rows)) {
      PTERON_CASE_OK(track.warm_up(position));
      PTERON_CASE(const std::vector<float> expected, track.run(step, position, 1));
      for (const CacheView& cache : track.manager().caches()) {
        const Geometry geometry = geometry_of(suite, cache);
        for (size_t slot = 0; slot < geometry.slots; ++slot) {
          const auto held = geometry.position_in(slot, position + rows);
          if (!held || (*held < position && !geometry.sees(position, *held))) poison_slot(cache, slot, 1000);
        }
      }
      PTERON_CASE(const std::vector<float> found, track.run(step, position, 1));
      if (found != expected) return failed("a call of " + std::to_string(rows) + " rows at position " + std::to_string(position) + " sees slots that are hidden from it");
    }
  }
  return passed();
}

// Each visible key counts: the oldest, one in the middle and the newest, in every layer.
Verdict visible_slots(const Suite& suite) {
  PTERON_CASE(Track track, Track::create(suite, suite.source()));
  Verdict verdict;
  const std::vector<size_t> where = positions(suite, std::max<size_t>(suite.rows(), 1));
  if (too_long(suite, where.size() * (kWarmUp + 3 * suite.contract().layers.size()), verdict)) return verdict;
  for (const Step step : {Step::decode, Step::prefill}) {
    if (step == Step::prefill && suite.rows() == 0) continue;
    for (const size_t position : where) {
      if (position == 0) continue;
      PTERON_CASE_OK(track.warm_up(position));
      PTERON_CASE(const std::vector<float> expected, track.run(step, position, 1));
      for (const CacheView& cache : track.manager().caches()) {
        if (cache.key) continue;
        const Geometry geometry = geometry_of(suite, cache);
        const size_t oldest = position >= geometry.window ? position - geometry.window + 1 : 0;
        if (oldest == position) continue;  // a window of one token
        for (const size_t key : {oldest, oldest + (position - oldest) / 2, position - 1}) {
          const size_t slot = geometry.slot_of(key);
          std::vector<std::byte> kept;
          for (size_t h = 0; h < static_cast<size_t>(cache.tensor.sizes[1]); ++h) kept.insert(kept.end(), slot_bytes(cache, h, slot).begin(), slot_bytes(cache, h, slot).end());
          poison_slot(cache, slot, 30000);
          PTERON_CASE(const std::vector<float> found, track.run(step, position, 1));
          const std::byte* from = kept.data();
          for (size_t h = 0; h < static_cast<size_t>(cache.tensor.sizes[1]); ++h) {
            const auto bytes = slot_bytes(cache, h, slot);
            from = std::copy_n(from, bytes.size(), bytes.begin()) == bytes.end() ? from + bytes.size() : from;
          }
          if (found == expected) {
            return failed("a query at position " + std::to_string(position) + " does not see the key at " + std::to_string(key) + " in layer " + std::to_string(cache.layer));
          }
        }
      }
    }
  }
  return passed();
}

// The same calls on reset caches give the same bits, on the same loaded methods and on fresh ones.
Verdict repeatable(const Suite& suite) {
  std::vector<std::vector<float>> results;
  PTERON_CASE(Track track, Track::create(suite, suite.source()));
  PTERON_CASE(Track fresh, Track::create(suite, suite.source()));
  const size_t rows = suite.rows();
  for (Track* at : {&track, &track, &fresh}) {
    PTERON_CASE_OK(at->warm_up(std::min<size_t>(8, suite.capacity() - std::max<size_t>(rows, 1))));
    std::vector<float> all;
    const size_t position = std::min<size_t>(8, suite.capacity() - std::max<size_t>(rows, 1));
    for (const Step step : {Step::prefill, Step::decode}) {
      if (step == Step::prefill && rows == 0) continue;
      PTERON_CASE(const std::vector<float> logits, at->run(step, position, 1));
      all.insert(all.end(), logits.begin(), logits.end());
    }
    results.push_back(std::move(all));
    if (results.back() != results.front()) return failed(results.size() == 2 ? "a second run after a reset differs" : "a run on freshly loaded methods differs");
  }
  return passed();
}

// Whether hiding a key in the mask has an effect, or the program works out for itself what is visible.
Verdict reads_masks(const Suite& suite) {
  AuditedSource meddler(suite.source(), suite.contract());
  const InputSpec* hidden = nullptr;
  meddler.before = [&](const AuditedBuffers& buffers) {
    if (hidden == nullptr || buffers.role != MethodRole::decode) return Status();
    const size_t slot = 2 % static_cast<size_t>(hidden->shape[3]);  // the position before the query
    std::byte* const element = static_cast<std::byte*>(buffers.inputs[hidden->index]) + slot * element_size(hidden->dtype);
    const uint32_t bits = hidden->dtype == ScalarType::Bool ? 0 : most_negative_bits(hidden->dtype);
    std::memcpy(element, &bits, element_size(hidden->dtype));
    return Status();
  };
  PTERON_CASE(Track track, Track::create(suite, meddler));
  if (suite.capacity() < 4) return not_applicable("the context is too short");
  PTERON_CASE_OK(track.warm_up(3));
  PTERON_CASE(const std::vector<float> expected, track.run(Step::decode, 3, 1));
  for (const InputSpec& input : suite.contract().method(MethodRole::decode)->inputs) {
    if (input.role != InputRole::mask || input.shape[3] < 3) continue;
    const auto mask = std::find_if(suite.contract().masks.begin(), suite.contract().masks.end(), [&](const MaskSpec& m) { return m.name == input.mask; });
    if (mask->kind == LayerKind::sliding) {
      const auto layer = std::find_if(suite.contract().layers.begin(), suite.contract().layers.end(), [](const LayerSpec& l) { return l.kind == LayerKind::sliding; });
      if (layer->window < 2) continue;  // hidden anyway
    }
    hidden = &input;
    PTERON_CASE(const std::vector<float> found, track.run(Step::decode, 3, 1));
    if (found == expected) return not_applicable("the program works out for itself what the mask " + input.mask + " shows");
  }
  return passed();
}

// Both ends of the vocabulary are legal tokens, and not the same one.
Verdict vocabulary(const Suite& suite) {
  PTERON_CASE(Session session, suite.session());
  const TokenId last = static_cast<TokenId>(suite.contract().vocab_size - 1);
  std::vector<std::vector<float>> results;
  for (const TokenId id : {TokenId{0}, last}) {
    PTERON_CASE_OK(session.reset());
    PTERON_CASE(const LogitsView logits, session.append(std::span(&id, 1)));
    results.push_back(copy(logits));
  }
  if (last != 0 && results[0] == results[1]) return failed("tokens 0 and " + std::to_string(last) + " give the same logits");
  return passed();
}

}  // namespace

std::span<const Case> program_cases() {
  static constexpr std::array<Case, 10> kCases = {{{"program.chunks", chunks},
                                                   {"program.chunk_caches", chunk_caches},
                                                   {"program.verify", verify},
                                                   {"program.writes", writes},
                                                   {"program.padding", padding},
                                                   {"program.hidden_slots", hidden_slots},
                                                   {"program.visible_slots", visible_slots},
                                                   {"program.repeatable", repeatable},
                                                   {"program.reads_masks", reads_masks},
                                                   {"program.vocabulary", vocabulary}}};
  return kCases;
}

}  // namespace pteron::llm
