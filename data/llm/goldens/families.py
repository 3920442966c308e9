"""The config.json of each small random model, in the form in which the family's models are published."""

COMMON = {
    "attention_dropout": 0.0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 64,
    "initializer_range": 0.02,
    "intermediate_size": 128,
    "max_position_embeddings": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "float16",
    "use_cache": True,
    "vocab_size": 288,
}
LLAMA = COMMON | {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "attention_bias": False, "mlp_bias": False}
LLAMA3_SCALING = {
    "factor": 8.0,
    "high_freq_factor": 4.0,
    "low_freq_factor": 1.0,
    "original_max_position_embeddings": 32,
    "rope_type": "llama3",
}
QWEN2 = COMMON | {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "rms_norm_eps": 1e-6, "rope_theta": 1000000.0}
QWEN2 |= {"max_window_layers": 2, "sliding_window": 24, "use_sliding_window": False}
QWEN3 = QWEN2 | {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "attention_bias": False, "head_dim": 32}
YARN = {"factor": 8.0, "original_max_position_embeddings": 32, "rope_type": "yarn"}


def in_current_form(config):
    """Converts to the form that transformers 5 writes: RoPE in one table, dtype for torch_dtype."""
    config = dict(config)
    rope = config.pop("rope_scaling") | {"rope_theta": config.pop("rope_theta")}
    return config | {"rope_parameters": rope, "dtype": config.pop("torch_dtype")}


# name -> (config, what distinguishes the model: a change of the config, or parameters to neutralize, that must change the logits)
MODELS = {
    "llama2": (LLAMA | {"num_key_value_heads": 4, "torch_dtype": "float32", "rope_scaling": None}, {"rope_theta": 500.0}),
    "llama3": (LLAMA | {"rope_theta": 500000.0, "rope_scaling": LLAMA3_SCALING}, {"rope_scaling": None}),
    "llama3_2_tied": (
        LLAMA
        | {"rope_theta": 500000.0, "rope_scaling": LLAMA3_SCALING | {"factor": 32.0}, "tie_word_embeddings": True}
        | {"num_hidden_layers": 3, "head_dim": 16},
        {"rope_scaling": None},
    ),
    "llama_linear": (
        in_current_form(LLAMA | {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}),
        {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
    ),
    "mistral_window": (
        COMMON | {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": 24, "head_dim": 32},
        {"sliding_window": None},
    ),
    "qwen2_5": (QWEN2 | {"hidden_size": 96, "num_attention_heads": 6, "torch_dtype": "bfloat16"}, "bias"),
    "qwen2_5_yarn": (QWEN2 | {"rope_scaling": YARN, "num_key_value_heads": 1}, {"rope_scaling": None}),
    "qwen3": (QWEN3 | {"torch_dtype": "float32"}, "_norm.weight"),
    "qwen3_yarn_tied": (QWEN3 | {"rope_scaling": YARN, "tie_word_embeddings": True}, {"rope_scaling": None}),
}
SHARDED = ("llama3",)  # in two files with an index
