#include "passes/passes.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace pteron::passes {
namespace {

TEST(Passes, AreFoundByUniqueNamesAndHaveTheirFiles) {
  std::set<std::string> names;
  for (const ir::Pass& pass : all_passes()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_FALSE(pass.summary.empty()) << pass.name;
    EXPECT_EQ(find_pass(pass.name), &pass);
    const std::string file = std::string(PTERON_SOURCE_DIR) + "/src/passes/" + pass.name;
    EXPECT_TRUE(std::ifstream(file + ".cc").good() && std::ifstream(file + "_test.cc").good()) << pass.name;
  }
  EXPECT_EQ(find_pass("no_such_pass"), nullptr);
}

}  // namespace
}  // namespace pteron::passes
