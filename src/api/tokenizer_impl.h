// What stands behind public tokenizers: a table, owned or inside a program that is kept alive, and the tokenizer over it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/status.h"
#include "pteron/llm.h"
#include "text/tokenizer.h"

namespace pteron {

struct Tokenizer::Impl {
  std::vector<std::byte> table;         // where the tokenizer owns it
  std::shared_ptr<const void> keep_alive;  // else what holds it
  text::Tokenizer tokenizer;

  static Result<std::shared_ptr<const Impl>> make(std::vector<std::byte> table) {
    auto made = text::Tokenizer::from_table(table);
    if (!made.ok()) return made.status();
    return std::shared_ptr<const Impl>(new Impl{std::move(table), nullptr, std::move(*made)});
  }
};

}  // namespace pteron
