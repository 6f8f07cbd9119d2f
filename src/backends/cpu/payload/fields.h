// The fields of a plan, in the order in which they are stored: one list for reader and writer.
#pragma once

#include "backends/cpu/payload/plan.h"

namespace pteron::cpu_backend {

template <class A>
void fields(A& a, TensorRef& t) {
  a("key", t.key), a("packed", t.packed), a("encoding", t.encoding), a("rows", t.rows), a("cols", t.cols), a("error", t.error);
}
template <class A>
void fields(A& a, Argument& t) {
  a("dtype", t.dtype), a("output", t.output), a("sizes", t.sizes);
}
template <class A>
void fields(A& a, Buffer& t) {
  a("argument", t.argument), a("offset", t.offset), a("width", t.width), a("single_row", t.single_row), a("format", t.format);
}
template <class A>
void fields(A& a, Norm& t) {
  a("kind", t.kind), a("weight", t.weight), a("bias", t.bias), a("eps", t.eps), a("offset", t.offset), a("width", t.width);
}
template <class A>
void fields(A& a, Rope& t) {
  a("frequencies", t.frequencies), a("positions", t.positions), a("attention_factor", t.attention_factor);
}
template <class A>
void fields(A& a, Mask& t) {
  a("argument", t.argument), a("slots", t.slots);
}
template <class A>
void fields(A& a, EmbedStep& t) {
  a("weight", t.weight), a("ids", t.ids), a("out", t.out), a("scale", t.scale);
}
template <class A>
void fields(A& a, NormStep& t) {
  a("norm", t.norm), a("in", t.in), a("out", t.out), a("accumulate", t.accumulate);
}
template <class A>
void fields(A& a, Projection& t) {
  a("weight", t.weight), a("bias", t.bias), a("out", t.out);
}
template <class A>
void fields(A& a, ProjectStep& t) {
  a("in", t.in), a("norm", t.norm), a("projections", t.projections), a("mode", t.mode), a("activation", t.activation);
}
template <class A>
void fields(A& a, RopeStep& t) {
  a("rope", t.rope), a("buffer", t.buffer), a("width", t.width), a("interleaved", t.interleaved);
}
template <class A>
void fields(A& a, WriteStep& t) {
  a("rows", t.rows), a("cache", t.cache), a("positions", t.positions), a("heads", t.heads), a("dim", t.dim), a("slots", t.slots);
}
template <class A>
void fields(A& a, AttendStep& t) {
  a("queries", t.queries), a("keys", t.keys), a("values", t.values), a("out", t.out);
  a("query_norm", t.query_norm), a("key_norm", t.key_norm), a("query_rope", t.query_rope), a("key_rope", t.key_rope), a("interleaved", t.interleaved);
  a("key_cache", t.key_cache), a("value_cache", t.value_cache), a("positions", t.positions), a("mask", t.mask), a("bias", t.bias);
  a("heads", t.heads), a("kv_heads", t.kv_heads), a("key_dim", t.key_dim), a("value_dim", t.value_dim), a("slots", t.slots);
  a("scale", t.scale), a("softcap", t.softcap);
}
template <class A>
void fields(A& a, MapStep& t) {
  a("kind", t.kind), a("activation", t.activation), a("factor", t.factor), a("in", t.in), a("out", t.out);
}
template <class A>
void fields(A& a, CombineStep& t) {
  a("kind", t.kind), a("factor", t.factor), a("a", t.a), a("b", t.b), a("out", t.out);
}
template <class A>
void fields(A& a, SelectStep& t) {
  a("in", t.in), a("row", t.row), a("out", t.out);
}
template <class A>
void fields(A& a, ConvertStep& t) {
  a("argument", t.argument), a("buffer", t.buffer), a("to_argument", t.to_argument);
}
template <class A>
void fields(A& a, Plan& t) {
  a("rows", t.rows), a("last_row", t.last_row), a("arena_bytes", t.arena_bytes), a("tensors", t.tensors), a("arguments", t.arguments);
  a("buffers", t.buffers), a("ropes", t.ropes), a("masks", t.masks), a("steps", t.steps);
}

}  // namespace pteron::cpu_backend
