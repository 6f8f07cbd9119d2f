// What the three readers of this folder share: FlatBuffers verification, and copying fields out with their paths in errors.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "format/malformed.h"
#include "format/program_layout.h"

namespace pteron::format {

// The root table, after the FlatBuffers verifier has found every offset inside `region`. The region must start at a multiple of 16.
template <class Root>
Result<const Root*> verified_root(ByteSpan region, const char* identifier) {
  if (reinterpret_cast<uintptr_t>(region.data()) % 16 != 0) {
    return malformed("address", "a multiple of 16", "another", Code::invalid_argument);
  }
  if (region.size() < 8 || region.size() > kMaxFlatBuffer) return malformed("size", "8..2147483647 bytes of tables", std::to_string(region.size()));
  flatbuffers::Verifier::Options options;
  options.max_depth = 16;           // the schemas nest seven deep and have no cycles
  options.max_tables = 4'000'000;   // a table for each value and instruction of a program with a million of them
  const auto* bytes = reinterpret_cast<const uint8_t*>(region.data());
  flatbuffers::Verifier verifier(bytes, region.size(), options);
  if (!verifier.VerifyBuffer<Root>(identifier)) return malformed("tables", "a well-formed FlatBuffer", "offsets, sizes or strings that are not");
  return flatbuffers::GetRoot<Root>(bytes);
}

// Copies fields out of verified tables. A FlatBuffer may store a part once and point to it many times, so a small file can describe a
// huge program: the reader gives up when it has copied several times what the file holds.
class FieldReader {
 public:
  explicit FieldReader(size_t file_bytes) : budget_(uint64_t{8} * file_bytes + 4096) {}

  template <class T>
  Status present(const T* field, std::string_view name) const {
    return field ? Status() : malformed(name, "a value", "nothing");
  }

  // Numbers, which need not be aligned to their size. Absent means empty.
  template <class T>
  Status numbers(const flatbuffers::Vector<T>* from, std::string_view name, std::vector<T>& to) {
    if (!from || from->size() == 0) return {};
    PTERON_TRY(charge(uint64_t{from->size()} * sizeof(T), name));
    to.resize(from->size());
    std::memcpy(to.data(), from->Data(), to.size() * sizeof(T));
    return {};
  }

  // The bytes of a string, whatever they are. Absent means empty.
  Status text(const flatbuffers::String* from, std::string_view name, std::string& to) {
    if (!from) return {};
    PTERON_TRY(charge(from->size(), name));
    to.assign(from->c_str(), from->size());
    return {};
  }

  Status required_text(const flatbuffers::String* from, std::string_view name, std::string& to) {
    PTERON_TRY(present(from, name));
    return text(from, name, to);
  }

  // Calls `read(table, index)` for each table of a vector; its errors get `name[index]` in front. Absent means empty.
  template <class T, class Read>
  Status each(const flatbuffers::Vector<flatbuffers::Offset<T>>* tables, std::string_view name, Read&& read) {
    if (!tables) return {};
    PTERON_TRY(charge(uint64_t{tables->size()} * sizeof(flatbuffers::uoffset_t), name));
    for (flatbuffers::uoffset_t i = 0; i < tables->size(); ++i) {
      if (Status status = read(*tables->Get(i), size_t{i}); !status.ok()) return std::move(status).in_field(indexed(name, i));
    }
    return {};
  }

 private:
  Status charge(uint64_t bytes, std::string_view name) {
    if (bytes > budget_) return malformed(name, "parts that are rarely shared", "more than eight times the file's size in shared parts");
    budget_ -= bytes;
    return {};
  }
  uint64_t budget_;
};

// Bytes in place. Absent means empty.
inline ByteSpan bytes_of(const flatbuffers::Vector<uint8_t>* from) {
  return from ? ByteSpan(reinterpret_cast<const std::byte*>(from->Data()), from->size()) : ByteSpan();
}

}  // namespace pteron::format
