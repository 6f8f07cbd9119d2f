#include <gmock/gmock.h>

#include "runtime/counting_allocator_for_test.h"
#include "runtime/program_for_test.h"

namespace pteron::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = x + c
TestProgram addition() {
  TestProgram p;
  const int32_t x = p.planned({2}), c = p.constant({2}, {10, 20}), one = p.value(int64_t{1}), y = p.planned({2});
  p.call("aten::add", "out", {x, c, one, y, y});
  p.plan.inputs = {x};
  p.plan.outputs = {y};
  return p;
}

TEST(Loader, ConstantsAreUsedInPlace) {
  TestProgram p = addition();
  p.plan.outputs.push_back(1);
  auto method = p.load();
  ASSERT_TRUE(method.ok()) << method.status().message();
  const auto constant = method->output(1);
  ASSERT_TRUE(constant.ok());
  EXPECT_THAT(floats_of(*constant), ElementsAre(10, 20));
  EXPECT_TRUE(p.holds(constant->data));
}

TEST(Loader, UnknownMethodsAreListedWithTheKnown) {
  TestProgram p = addition();
  const auto method = load_method(p.open(), "backward");
  EXPECT_EQ(method.code(), Code::not_found);
  EXPECT_THAT(method.status().message(), HasSubstr("forward"));
}

TEST(Loader, UnknownBackendsAreNamed) {
  TestProgram p = addition();
  p.delegate_blobs.push_back(format::owned_blob({std::byte{1}}));
  format::Delegate delegate;
  delegate.id = "NoSuchBackend";
  p.plan.delegates.push_back(delegate);
  const auto method = p.load();
  EXPECT_EQ(method.code(), Code::not_found);
  EXPECT_THAT(method.status().message(), HasSubstr("NoSuchBackend"));
}

TEST(Loader, EveryFailingAllocationIsAnErrorWithoutLeak) {
  for (int fail = 0; fail < 4; ++fail) {
    TestProgram p = addition();
    CountingAllocator allocator;
    allocator.fail_from = fail;
    {
      const auto method = p.load({.allocator = &allocator});
      EXPECT_TRUE(method.ok() || method.code() == Code::out_of_memory);
      EXPECT_TRUE(method.ok() || fail == 0);
    }
    EXPECT_EQ(allocator.live, 0);
  }
}

TEST(Loader, MemoryOfTheMethodIsBoundAndZeroed) {
  TestProgram p = addition();
  CountingAllocator allocator;
  auto method = p.load({.allocator = &allocator});
  ASSERT_TRUE(method.ok());
  EXPECT_EQ(allocator.bound, 2);  // x and y
  EXPECT_THAT(floats_of(*method->output(0)), ElementsAre(0, 0));
}

TEST(Loader, MisalignedArenaOffsetsAreRefused) {
  TestProgram p = addition();
  std::get<format::Tensor>(p.plan.values[0]).allocation->offset = 2;
  EXPECT_EQ(p.load().code(), Code::invalid_data);
}

TEST(Loader, MissingExternalDataIsNamed) {
  TestProgram p = addition();
  format::Tensor& c = std::get<format::Tensor>(p.plan.values[1]);
  c.external = true;
  c.data_buffer_idx = 0;
  c.name = "layer.weight";
  const auto method = p.load();
  EXPECT_EQ(method.code(), Code::not_found);
  EXPECT_THAT(method.status().message(), HasSubstr("layer.weight"));
}

// A backend that doubles its input, and remembers what it was given.
class DoublingDelegate final : public Delegate {
 public:
  Status execute(std::span<Value* const> args) override {
    if (args.size() != 2 || !args[0]->is(Value::Kind::tensor) || !args[1]->is(Value::Kind::tensor))
      return Status::error(Code::invalid_data, "wrong arguments");
    const Tensor& in = args[0]->tensor();
    Tensor& out = args[1]->tensor();
    for (size_t i = 0; i < in.numel(); ++i) out.data<float>()[i] = 2 * in.data<float>()[i];
    return {};
  }
};
class DoublingBackend final : public RunBackend {
 public:
  std::string_view id() const override { return "Doubling"; }
  Result<std::unique_ptr<Delegate>> init(ByteSpan payload, std::span<const format::CompileSpec> specs, InitContext& context) const override {
    if (as_text(payload) == "broken") return Status::error(Code::invalid_data, "payload is broken");
    EXPECT_EQ(specs.size(), 1u);
    EXPECT_EQ(context.method_name(), "forward");
    EXPECT_EQ(context.options().size(), 1u);
    const auto named = context.named_data("weights");
    EXPECT_TRUE(named.ok() && as_text(*named) == "w");
    EXPECT_EQ(context.named_data("nothing").code(), Code::not_found);
    return std::unique_ptr<Delegate>(new DoublingDelegate);
  }
};

std::vector<std::byte> text_bytes(std::string_view text) {
  const ByteSpan bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

TestProgram delegated(std::string_view payload) {
  TestProgram p;
  const int32_t x = p.planned({2}), y = p.planned({2});
  p.delegate_blobs.push_back(format::owned_blob(text_bytes(payload)));
  p.named_data.push_back({"weights", format::owned_blob(text_bytes("w")), 1});
  format::Delegate delegate;
  delegate.id = "Doubling";
  delegate.compile_specs.push_back({"k", {}});
  p.plan.delegates.push_back(delegate);
  p.add(format::DelegateCall{0, {x, y}});
  p.plan.inputs = {x};
  p.plan.outputs = {y};
  return p;
}

TEST(Loader, DelegatesGetTheirPayloadAndContext) {
  const DoublingBackend backend;
  const std::vector<const RunBackend*> backends = {&backend};
  const std::vector<BackendOption> options = {{"Doubling", "threads", int64_t{2}}, {"Other", "x", true}};
  TestProgram p = delegated("fine");
  auto method = p.load({.backends = backends, .backend_options = options});
  ASSERT_TRUE(method.ok()) << method.status().message();
  ASSERT_TRUE(method->set_input(0, view_of({1, 2}, {2})).ok());
  ASSERT_TRUE(method->execute().ok());
  EXPECT_THAT(floats_of(*method->output(0)), ElementsAre(2, 4));
  TestProgram broken = delegated("broken");
  const auto refused = broken.load({.backends = backends});
  EXPECT_EQ(refused.code(), Code::invalid_data);
  EXPECT_THAT(refused.status().message(), HasSubstr("Doubling"));
}

TEST(SharedArenas, AreAsLargeAsTheLargestMethodAsks) {
  TestProgram p = addition();
  CountingAllocator allocator;
  {
    auto arenas = SharedArenas::create(p.open(), allocator);
    ASSERT_TRUE(arenas.ok());
    ASSERT_EQ(arenas->arenas().size(), 1u);
    EXPECT_EQ(arenas->arenas()[0].size(), static_cast<size_t>(p.plan.non_const_buffer_sizes[1]));
    TestProgram q = addition();
    auto method = q.load({.shared_arenas = arenas->arenas()});
    ASSERT_TRUE(method.ok());
    EXPECT_EQ(method->output(0)->data, arenas->arenas()[0].data() + 64);
  }
  EXPECT_EQ(allocator.live, 0);
}

}  // namespace
}  // namespace pteron::runtime::testing
