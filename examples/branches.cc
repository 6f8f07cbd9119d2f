// One prompt, several continuations: branches MODEL.pte TEXT. The prompt is read once; each branch is a fork with a thread and a seed of its own.
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "pteron/llm.h"

namespace {

constexpr size_t kBranches = 3;

int fail(const pteron::Status& status) {
  std::fprintf(stderr, "branches: %s\n", status.message().c_str());
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return std::fprintf(stderr, "usage: branches MODEL.pte TEXT\n"), 2;
  pteron::EngineOptions load;
  load.threads = 1;  // a branch
  const pteron::Result<pteron::Engine> engine = pteron::Engine::load(words[1], load);
  if (!engine.ok()) return fail(engine.status());
  pteron::Result<pteron::Session> root = engine->new_session();
  if (!root.ok()) return fail(root.status());
  const auto ids = engine->encode_prompt(words[2]);
  if (!ids.ok()) return fail(ids.status());
  if (const auto read = root->append(*ids); !read.ok()) return fail(read.status());

  std::vector<pteron::Session> branches;
  for (size_t i = 0; i < kBranches; ++i) {
    auto fork = root->fork();
    if (!fork.ok()) return fail(fork.status());
    branches.push_back(std::move(*fork));
  }
  std::vector<std::string> texts(kBranches);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kBranches; ++i) {
    threads.emplace_back([&, i] {
      pteron::GenerateOptions options = engine->default_generation();
      options.max_tokens = 24;
      options.sampler.temperature = 0.8;
      options.sampler.seed = i;
      const auto made = branches[i].generate(options);
      texts[i] = made.ok() ? made->text : made.status().message();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) std::printf("%s%s\n---\n", words[2], text.c_str());
}
