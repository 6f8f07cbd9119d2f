// Any text as a key: a key or an error. Encrypted keys are read up to the point where a passphrase is asked for.
#include "manifest/key.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pteron;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto key = PublicKey::from_pem(text);
  if (key.ok()) {
    const auto again = PublicKey::from_pem(key->to_pem());
    if (!again.ok() || again->id() != key->id()) __builtin_trap();
  }
  const Passphrase none = []() -> Result<std::string> { return Status::error(Code::cancelled, "no passphrase"); };
  (void)PrivateKey::from_pem(text, none).ok();
  return 0;
}
