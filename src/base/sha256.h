// SHA-256 (FIPS 180-4), by OpenSSL, which uses the processor's instructions for it.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "base/bytes.h"

namespace pteron {

using Digest = std::array<std::byte, 32>;

class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  ~Sha256();
  void update(ByteSpan bytes);
  Digest finish();  // once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest sha256(ByteSpan bytes);
std::string to_hex(ByteSpan bytes);  // lower case

}  // namespace pteron
