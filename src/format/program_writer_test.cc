#include "format/program_writer.h"

#include <gtest/gtest.h>

#include "format/data_for_test.h"
#include "format/program_reader.h"
#include "format/rewrite_for_test.h"
#include "package/open.h"

namespace pteron::format {
namespace {

Blob filled(size_t size, int value) { return owned_blob(std::vector<std::byte>(size, static_cast<std::byte>(value))); }

Tensor vector_of(int32_t size) {
  Tensor tensor;
  tensor.sizes = {size};
  tensor.dim_order = {0};
  return tensor;
}

// x + c with a constant.
ProgramToWrite add_constant() {
  Tensor constant = vector_of(3);
  constant.data_buffer_idx = 1;
  Tensor x = vector_of(3), out = vector_of(3);
  x.allocation = {1, 16};
  out.allocation = {1, 0};
  Plan plan;
  plan.name = "forward";
  plan.values = {constant, x, out, int64_t{1}};
  plan.inputs = {1};
  plan.outputs = {2};
  plan.operators = {{"aten::add", "out"}};
  plan.chains = {{{KernelCall{0, {1, 0, 3, 2, 2}}}}};
  plan.non_const_buffer_sizes = {0, 32};
  ProgramToWrite program;
  program.plans = {plan};
  program.constants = {filled(12, 1)};
  return program;
}

std::vector<std::byte> must_write(ProgramToWrite program) {
  auto file = written(std::move(program));
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.ok() ? std::move(file).value() : std::vector<std::byte>();
}

Program must_read(ByteSpan file) {
  auto program = read_program(file);
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? std::move(program).value() : Program();
}

TEST(ProgramWriter, LaysOutHeaderTablesAndSegments) {
  const auto file = must_write(add_constant());
  EXPECT_EQ(as_text(ByteSpan(file).subspan(4, 8)), "ET12eh00");
  EXPECT_EQ(load_unaligned<uint32_t>(file.data() + 12), 32u);
  const Program program = must_read(file);
  EXPECT_EQ(program.segment_base, (program.program_size + 127) / 128 * 128);
  EXPECT_EQ(program.segment_data_size, 12u);
  EXPECT_EQ(file.size(), program.segment_base + 12);
  EXPECT_EQ(program.segments, (std::vector<Segment>{{program.segment_base, 12}}));
  EXPECT_EQ(program.constants, (Subsegments{0, {0, 0}}));
  for (uint64_t i = program.program_size; i < program.segment_base; ++i) EXPECT_EQ(file[i], std::byte{0});
  EXPECT_EQ(file[program.segment_base], std::byte{1});
}

TEST(ProgramWriter, WithoutBytesThereIsNoHeader) {
  ProgramToWrite program = add_constant();
  std::get<Tensor>(program.plans[0].values[0]).data_buffer_idx = 0;
  program.constants.clear();
  const auto file = must_write(program);
  EXPECT_NE(as_text(ByteSpan(file).subspan(8, 4)), "eh00");
  const Program read = must_read(file);
  EXPECT_EQ(read.segments, (std::vector<Segment>{{0, 0}}));
  EXPECT_EQ(read.constants, (Subsegments{0, {0}}));
  EXPECT_EQ(read.program_size, file.size());
}

TEST(ProgramWriter, OrdersSegmentsAndSharesEqualOnes) {
  ProgramToWrite program = add_constant();
  Plan& plan = program.plans[0];
  Tensor state = vector_of(2);
  state.allocation = {1, 0};
  state.data_buffer_idx = 2;
  plan.values.emplace_back(state);
  program.mutable_data = {filled(3, 20), filled(8, 21)};
  program.delegate_blobs = {filled(100, 30), filled(50, 31), filled(100, 30), Blob()};
  plan.delegates = {{"B", false, 1, {}}, {"B", false, 0, {}}, {"B", true, 3, {}}, {"B", false, 2, {}}};
  program.named_data = {{"a", filled(10, 40)}, {"b", filled(20, 41), 256}, {"c", filled(10, 40), 64}, {"empty", Blob()}};
  const auto file = must_write(program);
  const Program read = must_read(file);
  const uint64_t base = read.segment_base;
  EXPECT_EQ(read.segments,
            (std::vector<Segment>{{base, 12}, {base + 128, 11}, {base + 256, 50}, {base + 384, 100}, {base + 512, 10}, {base + 768, 20}, {base, 0}}));
  EXPECT_EQ(read.mutable_data, (Subsegments{1, {0, 0, 3}}));
  EXPECT_EQ(file[base + 128 + 3], std::byte{21});
  const auto& delegates = read.plans[0].delegates;
  EXPECT_EQ(delegates[0].index, 2u);
  EXPECT_EQ(delegates[1].index, 3u);
  EXPECT_FALSE(delegates[2].in_segment);
  EXPECT_EQ(delegates[3].index, 3u);
  EXPECT_EQ(read.named_data, (std::vector<NamedData>{{"a", 4}, {"b", 5}, {"c", 4}, {"empty", 6}}));
  EXPECT_EQ(file.size(), base + 768 + 20);
}

TEST(ProgramWriter, PadsConstantsButNotTheLast) {
  ProgramToWrite program = add_constant();
  program.constants = {filled(12, 1), filled(5, 2), Blob(), filled(1, 3)};
  const Program read = must_read(must_write(program));
  EXPECT_EQ(read.constants->offsets, (std::vector<uint64_t>{0, 0, 16, 32, 32}));
  EXPECT_EQ(read.segments[0].size, 33u);
}

TEST(ProgramWriter, ConstantsWithoutBytesStillGetASegment) {
  ProgramToWrite program = add_constant();
  std::get<Tensor>(program.plans[0].values[0]).sizes = {0};
  program.constants = {Blob()};
  EXPECT_EQ(must_read(must_write(program)).segments[0].size, 16u);
}

TEST(ProgramWriter, EqualInputGivesEqualBytes) {
  EXPECT_EQ(must_write(add_constant()), must_write(add_constant()));
}

TEST(ProgramWriter, WritesAgainWhatItRead) {
  for (const auto& entry : data_index("valid")) {
    const std::string name = entry["file"];
    if (name == "asm.constants_inline.pte") continue;  // comes out with a segment
    auto first = package::open(data_path("valid/" + name));
    ASSERT_TRUE(first.ok()) << first.status().message();
    const auto file = must_write(rewrite(first->program));
    auto second = package::from_bytes(file);
    ASSERT_TRUE(second.ok()) << name << ": " << second.status().message();
    const Program &a = first->program.program(), &b = second->program.program();
    EXPECT_EQ(a.plans, b.plans) << name;
    EXPECT_EQ(a.constants, b.constants) << name;
    EXPECT_EQ(a.mutable_data, b.mutable_data) << name;
    EXPECT_EQ(a.named_data, b.named_data) << name;
    ASSERT_EQ(a.segments.size(), b.segments.size()) << name;
    for (size_t i = 0; i < a.segments.size(); ++i) {
      EXPECT_EQ(a.segments[i].offset - a.segment_base, b.segments[i].offset - b.segment_base) << name << i;
      const ByteSpan x = *first->program.segment(i), y = *second->program.segment(i);
      EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end())) << name << i;
    }
  }
}

TEST(ProgramWriter, InlineConstantsMoveToASegment) {
  auto first = package::open(data_path("valid/asm.constants_inline.pte"));
  ASSERT_TRUE(first.ok()) << first.status().message();
  const auto file = must_write(rewrite(first->program));
  auto second = package::from_bytes(file);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(as_text(first->program.constant(1, 12)), as_text(second->program.constant(1, 12)));
  EXPECT_GT(second->program.program().segment_data_size, 0u);
}

TEST(ProgramWriter, RefusesBrokenRecipes) {
  const auto refused = [](const std::function<void(ProgramToWrite&)>& change) {
    ProgramToWrite program = add_constant();
    change(program);
    const Status status = written(std::move(program)).status();
    EXPECT_FALSE(status.ok());
    return status.detail().field;
  };
  EXPECT_EQ(refused([](ProgramToWrite& p) { p.segment_alignment = 4; }), "segment_alignment");
  EXPECT_EQ(refused([](ProgramToWrite& p) { p.constant_alignment = 24; }), "constant_alignment");
  EXPECT_EQ(refused([](ProgramToWrite& p) { p.constants[0].size = 13; }), "constants[0]");
  EXPECT_EQ(refused([](ProgramToWrite& p) { p.constants[0] = filled(8, 1); }), "execution_plan[0].values[0].data_buffer_idx");
  EXPECT_EQ(refused([](ProgramToWrite& p) { p.constants.clear(); }), "execution_plan[0].values[0].data_buffer_idx");
  EXPECT_EQ(refused([](ProgramToWrite& p) { p.plans[0].delegates = {{"B", true, 0, {}}}; }), "delegates[0].index");
  EXPECT_EQ(refused([](ProgramToWrite& p) { p.named_data = {{"k", filled(1, 1)}, {"k", filled(1, 1)}}; }), "named_data.key");
  EXPECT_EQ(refused([](ProgramToWrite& p) { p.named_data = {{"k", filled(1, 1), 0}}; }), "named_data.k");
  EXPECT_EQ(refused([](ProgramToWrite& p) { p.plans[0].outputs = {9}; }), "execution_plan[0].outputs[0]");
}

TEST(ProgramWriter, PassesErrorsOfTheSinkOn) {
  size_t room = 0;
  for (; room < 5000; room += 100) {
    size_t left = room;
    const Status status = write_program(add_constant(), [&](ByteSpan bytes) {
      if (bytes.size() > left) return Status::error(Code::io_error, "no space");
      left -= bytes.size();
      return Status();
    });
    if (status.ok()) break;
    EXPECT_EQ(status.code(), Code::io_error);
  }
  EXPECT_GT(room, 500u);
  EXPECT_LT(room, 5000u);
}

TEST(ProgramWriter, WritesFilesWholeOrNotAtAll) {
  const std::string path = testing::TempDir() + "/writer_test.pte";
  auto out = FileWriter::create(path);
  ASSERT_TRUE(out.ok());
  ASSERT_TRUE(write_program(add_constant(), *out).ok());
  ASSERT_TRUE(out->commit().ok());
  auto opened = package::open(path);
  EXPECT_TRUE(opened.ok()) << opened.status().message();
}

}  // namespace
}  // namespace pteron::format
