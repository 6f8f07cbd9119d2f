// Constants as packed weights: recipes that stream tile after tile, so that no weight is ever held whole.
#pragma once

#include "backends/cpu/payload/plan.h"
#include "base/status.h"
#include "core/constant_source.h"
#include "core/packed_weight.h"
#include "ir/graph.h"
#include "partition/named_data.h"

namespace pteron::cpu_backend {

struct StoreOptions {
  PackedEncoding float_weights = PackedEncoding::float32;  // how floats are stored; float32: in the constant's own type
  PackedEncoding int4 = PackedEncoding::int4;              // what `int4` makes of floats: int4, or int4_affine
};

// How a two-dimensional constant is stored: block encodings as they are, `int8` and `int4` quantised from its floats, else as floats.
PackedEncoding choose_encoding(const ir::Constant& constant, const StoreOptions& options);

// The packed bytes of a constant. An encoding other than that of the source's blocks is made from its floats.
Result<partition::ByteRecipe> pack_weight(const ConstantPtr& source, PackedEncoding encoding);

// Root mean square error of the packed values relative to the constant's, over at most 64 of its rows; 0 where blocks or floats are kept.
Result<float> packing_error(const ConstantPtr& source, PackedEncoding encoding);

// A constant of any shape as float32, for norms, biases and frequencies.
partition::ByteRecipe plain_floats(const ConstantPtr& source);

}  // namespace pteron::cpu_backend
