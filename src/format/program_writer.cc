#include "format/program_writer.h"

#include <bit>
#include <utility>

#include "base/checked.h"
#include "format/malformed.h"
#include "format/program_checks.h"
#include "format/program_encoder.h"
#include "format/program_layout.h"
#include "format/segment_list.h"

namespace pteron::format {
namespace {

Status check_recipe(const ProgramToWrite& recipe) {
  for (const auto& [field, alignment] : {std::pair("segment_alignment", recipe.segment_alignment), std::pair("constant_alignment", recipe.constant_alignment)}) {
    if (!std::has_single_bit(alignment) || alignment < 8 || alignment > 1u << 20) {
      return malformed(field, "a power of two, 8..1048576", std::to_string(alignment), Code::invalid_argument);
    }
  }
  return {};
}

// The reserved entry, then the blobs: as one segment, unless there is nothing to say.
Subsegments append_entries(std::vector<Blob> blobs, uint64_t alignment, std::string field, SegmentList& list) {
  Subsegments entries;
  entries.offsets.push_back(0);
  const bool any = !blobs.empty();
  Blob blob = packed_blob(std::move(blobs), alignment, field, entries.offsets);
  // Loaders hand out a null pointer for an empty segment and then take the constants for missing, so entries need at least one byte.
  if (any && blob.size == 0) blob = owned_blob(std::vector<std::byte>(alignment));
  entries.segment_index = list.append(std::move(blob), std::move(field));
  return entries;
}

// Points every delegate to the segment of its blob; blobs are stored in the order in which the plans use them.
Status append_delegates(const std::vector<Blob>& blobs, Program& program, SegmentList& list) {
  std::vector<SegmentList::Request> requests;
  std::vector<Delegate*> owners;
  for (Plan& plan : program.plans) {
    for (size_t i = 0; i < plan.delegates.size(); ++i) {
      Delegate& delegate = plan.delegates[i];
      if (delegate.index >= blobs.size()) {
        return malformed(indexed("delegates", i) + ".index", "one of " + std::to_string(blobs.size()) + " blobs", std::to_string(delegate.index));
      }
      const Blob& blob = blobs[delegate.index];
      delegate.in_segment = blob.size > 0;
      if (delegate.in_segment) {
        requests.push_back({&blob, 1, indexed("delegate_blobs", delegate.index)});
        owners.push_back(&delegate);
      } else {
        delegate.index = 0;
        program.inline_delegate_data.assign(1, ByteSpan());
      }
    }
  }
  PTERON_ASSIGN(const std::vector<uint32_t> indices, list.append_shared(requests));
  for (size_t i = 0; i < owners.size(); ++i) owners[i]->index = indices[i];
  return {};
}

Status append_named_data(const std::vector<NamedBlob>& named, Program& program, SegmentList& list) {
  std::vector<SegmentList::Request> requests;
  for (const NamedBlob& entry : named) requests.push_back({&entry.blob, entry.alignment, "named_data." + entry.key});
  PTERON_ASSIGN(const std::vector<uint32_t> indices, list.append_shared(requests));
  for (size_t i = 0; i < named.size(); ++i) program.named_data.push_back({named[i].key, indices[i]});
  return {};
}

}  // namespace

Status write_program(ProgramToWrite recipe, const ByteSink& sink) {
  PTERON_TRY(check_recipe(recipe));
  Program program;
  program.plans = std::move(recipe.plans);
  SegmentList list(recipe.segment_alignment);
  program.constants = append_entries(std::move(recipe.constants), recipe.constant_alignment, "constants", list);
  if (!recipe.mutable_data.empty()) program.mutable_data = append_entries(std::move(recipe.mutable_data), 1, "mutable_data", list);
  PTERON_TRY(append_delegates(recipe.delegate_blobs, program, list));
  PTERON_TRY(append_named_data(recipe.named_data, program, list));
  PTERON_TRY(list.place());
  program.segments = list.segments();
  PTERON_TRY(check_program(program));

  const std::vector<std::byte> tables = encode_program(program);
  ProgramLayout layout;
  layout.has_header = list.data_size() > 0;
  layout.program_size = tables.size() + (layout.has_header ? kHeaderBytes : 0);
  if (layout.program_size > kMaxFlatBuffer) return malformed("size", "less than 2 GiB of metadata", std::to_string(layout.program_size), Code::out_of_capacity);
  layout.segment_base = align_up(layout.program_size, recipe.segment_alignment);
  layout.segment_data_size = list.data_size();
  Output out(sink);
  if (!layout.has_header) return out.write(tables);
  PTERON_TRY(write_with_header(tables, make_header(layout), out));
  PTERON_TRY(out.pad_to(layout.segment_base));
  return list.stream(out.sink());
}

Status write_program(ProgramToWrite program, FileWriter& out) {
  return write_program(std::move(program), [&](ByteSpan bytes) { return out.write(bytes); });
}

}  // namespace pteron::format
