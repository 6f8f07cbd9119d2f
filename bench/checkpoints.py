"""Checkpoints for benchmarks, made without anything but the standard library: the float32 folder of a quantised Llama GGUF, and a synthetic model."""
import array
import json
import math
import pathlib
import random
import struct

QK = 32  # values of a block


class Gguf:
    """Metadata and tensors of a GGUF file with Q4_1, Q8_0 and float32 tensors."""

    SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def __init__(self, path):
        self.bytes, self.at = pathlib.Path(path).read_bytes(), 8
        tensors, entries = self.take("Q"), self.take("Q")
        self.metadata = {}
        for _ in range(entries):
            key = self.text()
            self.metadata[key] = self.value(self.take("I"))
        self.tensors = {}
        for _ in range(tensors):
            name = self.text()
            shape = [self.take("Q") for _ in range(self.take("I"))][::-1]
            self.tensors[name] = (shape, self.take("I"), self.take("Q"))
        alignment = self.metadata.get("general.alignment", 32)
        self.data = (self.at + alignment - 1) // alignment * alignment

    def take(self, form):
        (value,) = struct.unpack_from("<" + form, self.bytes, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def text(self):
        size = self.take("Q")
        self.at += size
        return self.bytes[self.at - size:self.at].decode("utf-8", "replace")

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            inner, count = self.take("I"), self.take("Q")
            return [self.value(inner) for _ in range(count)]
        return self.take(self.SCALARS[kind])

    def floats(self, name):
        """The values of a tensor as little-endian float32, and its shape."""
        shape, kind, offset = self.tensors[name]
        count, start = math.prod(shape), self.data + offset
        if kind == 0:
            return self.bytes[start:start + 4 * count], shape
        block_bytes = {3: 20, 8: 34}[kind]
        data = self.bytes[start:start + count // QK * block_bytes]
        return (self.q4_1(data) if kind == 3 else self.q8_0(data)).tobytes(), shape

    @staticmethod
    def q4_1(data):
        low, high = bytes(i & 15 for i in range(256)), bytes(i >> 4 for i in range(256))
        out = array.array("f")
        for at in range(0, len(data), 20):
            scale, offset = struct.unpack_from("<ee", data, at)
            levels, packed = [scale * q + offset for q in range(16)], data[at + 4:at + 20]
            out.extend([levels[q] for q in packed.translate(low) + packed.translate(high)])
        return out

    @staticmethod
    def q8_0(data):
        out = array.array("f")
        for at in range(0, len(data), 34):
            (scale,) = struct.unpack_from("<e", data, at)
            out.extend([scale * q for q in struct.unpack_from("<32b", data, at + 2)])
        return out


def write_safetensors(path, tensors):
    """`tensors`: (name, dtype, shape, bytes of pieces), in the order of the file."""
    header, at = {}, 0
    for name, dtype, shape, _ in tensors:
        size = math.prod(shape) * {"F32": 4, "BF16": 2}[dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, _, _, pieces in tensors:
            for piece in pieces:
                out.write(piece)


def hugging_face_name(name):
    if not name.startswith("blk."):
        return {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight", "output.weight": "lm_head.weight"}[name]
    _, layer, part, _ = name.split(".")
    inner = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
             "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}[part]
    return f"model.layers.{layer}.{inner}.weight"


def halves_of_pairs(data, rows, heads):
    """GGUF stores the rotated rows of a head in pairs; Hugging Face stores them in halves."""
    size, dim = len(data) // rows, rows // heads
    order = (head * dim + 2 * i + half for head in range(heads) for half in range(2) for i in range(dim // 2))
    return b"".join(data[row * size:(row + 1) * size] for row in order)


def float_folder(gguf, folder):
    """Writes the dequantised weights of a Llama GGUF file as a Hugging Face folder of float32, unless it is there."""
    folder = pathlib.Path(folder)
    if (folder / "config.json").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    source = Gguf(gguf)
    of = {key.removeprefix("llama."): value for key, value in source.metadata.items()}
    heads, kv_heads = of["attention.head_count"], of["attention.head_count_kv"]
    tensors = []
    for name in source.tensors:
        data, shape = source.floats(name)
        if name.endswith(("attn_q.weight", "attn_k.weight")):
            data = halves_of_pairs(data, shape[0], heads if name.endswith("attn_q.weight") else kv_heads)
        tensors.append((hugging_face_name(name), "F32", shape, [data]))
    write_safetensors(folder / "model.safetensors", tensors)
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": of["embedding_length"], "intermediate_size": of["feed_forward_length"],
              "num_hidden_layers": of["block_count"], "num_attention_heads": heads, "num_key_value_heads": kv_heads, "rms_norm_eps": of["attention.layer_norm_rms_epsilon"],
              "rope_theta": of["rope.freq_base"], "max_position_embeddings": of["context_length"], "vocab_size": source.tensors["token_embd.weight"][0][0],
              "hidden_act": "silu", "tie_word_embeddings": "output.weight" not in source.tensors, "torch_dtype": "float32"}
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    return folder


def synthetic_llama(folder, hidden=2048, inner=8192, layers=16, heads=32, kv_heads=8, vocab=128256, shard_bytes=1 << 30):
    """A Llama of so many parameters (1.24 billion) with normally distributed bfloat16 weights in shards, unless it is there."""
    folder = pathlib.Path(folder)
    if (folder / "config.json").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(1)
    # A million values, told over and over from changing places: what they are matters to no speed.
    values = array.array("f", (chance.gauss(0, 0.02) for _ in range(1 << 20)))
    data, pool = values.tobytes(), bytearray(2 << 20)
    pool[0::2], pool[1::2] = data[2::4], data[3::4]

    def pieces(size):
        while size > 0:
            start = chance.randrange(0, len(pool) // 2, 2)
            piece = pool[start:start + min(size, len(pool) - start)]
            size -= len(piece)
            yield piece

    def tensor(name, *shape):
        size = 2 * math.prod(shape)
        return name, "BF16", list(shape), b"\x80\x3f" * shape[0] if len(shape) == 1 else size

    dim = hidden // heads
    tensors = [tensor("model.embed_tokens.weight", vocab, hidden)]
    for layer in range(layers):
        at = f"model.layers.{layer}."
        tensors += [tensor(at + "input_layernorm.weight", hidden), tensor(at + "post_attention_layernorm.weight", hidden), tensor(at + "self_attn.q_proj.weight", hidden, hidden),
                    tensor(at + "self_attn.k_proj.weight", kv_heads * dim, hidden), tensor(at + "self_attn.v_proj.weight", kv_heads * dim, hidden),
                    tensor(at + "self_attn.o_proj.weight", hidden, hidden), tensor(at + "mlp.gate_proj.weight", inner, hidden), tensor(at + "mlp.up_proj.weight", inner, hidden),
                    tensor(at + "mlp.down_proj.weight", hidden, inner)]
    tensors.append(tensor("model.norm.weight", hidden))
    shards, held = [[]], 0
    for entry in tensors:
        size = 2 * math.prod(entry[2])
        if held + size > shard_bytes and shards[-1]:
            shards.append([])
            held = 0
        shards[-1].append(entry)
        held += size
    weight_map = {}
    for number, shard in enumerate(shards, 1):
        name = f"model-{number:05}-of-{len(shards):05}.safetensors"
        write_safetensors(folder / name, [(n, d, s, [data] if isinstance(data, bytes) else pieces(data)) for n, d, s, data in shard])
        weight_map.update({entry[0]: name for entry in shard})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": layers,
              "num_attention_heads": heads, "num_key_value_heads": kv_heads, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "max_position_embeddings": 4096, "vocab_size": vocab,
              "hidden_act": "silu", "tie_word_embeddings": True, "torch_dtype": "bfloat16"}
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    return folder
