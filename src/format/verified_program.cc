#include "format/verified_program.h"

#include <utility>

#include "format/malformed.h"
#include "format/program_reader.h"

namespace pteron::format {

struct VerifiedProgram::Impl {
  FileBytes owner;
  ByteSpan file;
  Program program;

  ByteSpan entry(const Subsegments& entries, uint32_t index, size_t nbytes) const {
    return file.subspan(program.segments[entries.segment_index].offset + entries.offsets[index], nbytes);
  }
};

Result<VerifiedProgram> verify_program(FileBytes file, ByteSpan region, PackageKey) {
  auto program = read_program(region);
  if (!program.ok()) return std::move(program).status().in_file(file.path());
  return VerifiedProgram(std::make_shared<const VerifiedProgram::Impl>(VerifiedProgram::Impl{std::move(file), region, std::move(program).value()}));
}

const Program& VerifiedProgram::program() const { return impl_->program; }
ByteSpan VerifiedProgram::file() const { return impl_->file; }
const std::string& VerifiedProgram::path() const { return impl_->owner.path(); }

const Plan* VerifiedProgram::find_plan(std::string_view name) const {
  for (const Plan& plan : impl_->program.plans) {
    if (plan.name == name) return &plan;
  }
  return nullptr;
}

Result<ByteSpan> VerifiedProgram::segment(size_t index) const {
  const std::vector<Segment>& segments = impl_->program.segments;
  if (index < segments.size()) return impl_->file.subspan(segments[index].offset, segments[index].size);
  return Status::error(Code::invalid_argument, "no such segment",
                       {path(), "segments", std::to_string(segments.size()) + " segments", "index " + std::to_string(index)});
}

Result<ByteSpan> VerifiedProgram::named_data(std::string_view key) const {
  for (const NamedData& data : impl_->program.named_data) {
    if (data.key == key) return segment(data.segment_index);
  }
  return Status::error(Code::not_found, "the program has no such named data", {path(), "named_data", {}, "'" + std::string(key) + "'"});
}

ByteSpan VerifiedProgram::constant(uint32_t data_buffer_idx, size_t nbytes) const {
  const Program& program = impl_->program;
  if (program.constants && program.constants->offsets.size() > 1) return impl_->entry(*program.constants, data_buffer_idx, nbytes);
  return program.inline_constants[data_buffer_idx].first(nbytes);
}

ByteSpan VerifiedProgram::initial_state(uint32_t data_buffer_idx, size_t nbytes) const {
  return impl_->entry(*impl_->program.mutable_data, data_buffer_idx, nbytes);
}

ByteSpan VerifiedProgram::delegate_data(const Delegate& delegate) const {
  const Program& program = impl_->program;
  if (!delegate.in_segment) return program.inline_delegate_data[delegate.index];
  const Segment& segment = program.segments[delegate.index];
  return impl_->file.subspan(segment.offset, segment.size);
}

}  // namespace pteron::format
