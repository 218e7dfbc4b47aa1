"""Write a complete llama GGUF file of a few hundred kilobytes with random weights: converting it takes seconds."""

import gguf
import numpy as np

_HIDDEN, _HEADS, _KV_HEADS, _LAYERS, _INNER = 32, 4, 2, 2, 64
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{{ '<|im_start|>assistant\n' }}"
)


def write_tiny_gguf(path, seed=0):
    random = np.random.default_rng(seed)
    # Byte-level BPE with every byte and one merge.
    letters = [chr(code) for code in [*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324)]]
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *letters, "th"]
    kinds = [gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.NORMAL] * (len(tokens) - 3)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(_HIDDEN)
    writer.add_block_count(_LAYERS)
    writer.add_feed_forward_length(_INNER)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_KV_HEADS)
    writer.add_rope_dimension_count(_HIDDEN // _HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([int(kind) for kind in kinds])
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template(TEMPLATE)

    def tensor(name, *shape):
        values = np.ones(shape) if name.endswith("norm.weight") else random.normal(0, 0.3, shape)
        writer.add_tensor(name, values.astype(np.float32))

    tensor("token_embd.weight", len(tokens), _HIDDEN)
    tensor("output_norm.weight", _HIDDEN)
    kv = _HIDDEN // _HEADS * _KV_HEADS
    for layer in range(_LAYERS):
        block = f"blk.{layer}"
        for norm in ("attn_norm", "ffn_norm"):
            tensor(f"{block}.{norm}.weight", _HIDDEN)
        for name, rows, columns in (
            ("attn_q", _HIDDEN, _HIDDEN),
            ("attn_k", kv, _HIDDEN),
            ("attn_v", kv, _HIDDEN),
            ("attn_output", _HIDDEN, _HIDDEN),
            ("ffn_gate", _INNER, _HIDDEN),
            ("ffn_up", _INNER, _HIDDEN),
            ("ffn_down", _HIDDEN, _INNER),
        ):
            tensor(f"{block}.{name}.weight", rows, columns)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
