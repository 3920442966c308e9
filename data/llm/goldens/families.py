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
MIXTRAL = COMMON | {"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "intermediate_size": 64}
MIXTRAL |= {"num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": None}
QWEN2_MOE = QWEN2 | {"architectures": ["Qwen2MoeForCausalLM"], "model_type": "qwen2_moe", "num_experts": 8, "num_experts_per_tok": 3}
QWEN2_MOE |= {"moe_intermediate_size": 64, "shared_expert_intermediate_size": 128, "norm_topk_prob": False}
QWEN2_MOE |= {"decoder_sparse_step": 1, "mlp_only_layers": []}
QWEN3_MOE = QWEN3 | {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "num_experts": 12, "num_experts_per_tok": 4}
QWEN3_MOE |= {"moe_intermediate_size": 64, "norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": []}
OLMOE = COMMON | {"architectures": ["OlmoeForCausalLM"], "model_type": "olmoe", "num_experts": 8, "num_experts_per_tok": 2}
OLMOE |= {"intermediate_size": 64, "norm_topk_prob": False, "attention_bias": False, "clip_qkv": None}
GLM4_MOE = COMMON | {"architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe", "head_dim": 32, "num_hidden_layers": 3}
GLM4_MOE |= {"attention_bias": True, "partial_rotary_factor": 0.5, "use_qk_norm": False, "rope_theta": 1000000.0, "rope_scaling": None}
GLM4_MOE |= {"n_routed_experts": 8, "num_experts_per_tok": 3, "n_shared_experts": 1, "moe_intermediate_size": 64, "n_group": 1}
GLM4_MOE |= {"topk_group": 1, "norm_topk_prob": True, "routed_scaling_factor": 1.0, "first_k_dense_replace": 1}
GLM4_MOE |= {"num_nextn_predict_layers": 1}
DEEPSEEK = COMMON | {"num_hidden_layers": 3, "num_key_value_heads": 4, "attention_bias": False, "q_lora_rank": None}
DEEPSEEK |= {"kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 24, "rms_norm_eps": 1e-6}
DEEPSEEK |= {"n_routed_experts": 8, "num_experts_per_tok": 3, "n_shared_experts": 2, "moe_intermediate_size": 64}
DEEPSEEK |= {"first_k_dense_replace": 1, "moe_layer_freq": 1, "n_group": 1, "topk_group": 1}
DEEPSEEK_YARN = {"beta_fast": 32, "beta_slow": 1, "factor": 8, "original_max_position_embeddings": 32, "type": "yarn"}
DEEPSEEK2 = DEEPSEEK | {"architectures": ["DeepseekV2ForCausalLM"], "model_type": "deepseek_v2", "topk_method": "greedy"}
DEEPSEEK2 |= {"routed_scaling_factor": 1.0, "norm_topk_prob": False, "scoring_func": "softmax"}
DEEPSEEK2 |= {"rope_scaling": DEEPSEEK_YARN | {"mscale": 0.707, "mscale_all_dim": 0.707}}
GROUPS = {"q_lora_rank": 48, "n_routed_experts": 12, "n_group": 4, "topk_group": 2}
DEEPSEEK3 = DEEPSEEK | GROUPS | {"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "n_shared_experts": 1}
DEEPSEEK3 |= {"routed_scaling_factor": 2.5, "norm_topk_prob": True, "scoring_func": "sigmoid", "topk_method": "noaux_tc"}
DEEPSEEK3 |= {"num_nextn_predict_layers": 1, "rope_scaling": DEEPSEEK_YARN | {"mscale": 1.0, "mscale_all_dim": 1.0}}
GPT_OSS = COMMON | {"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "attention_bias": True, "head_dim": 32}
GPT_OSS |= {"num_local_experts": 6, "num_experts_per_tok": 2, "sliding_window": 24, "swiglu_limit": 7.0, "rope_theta": 500.0}
GPT_OSS |= {"layer_types": ["sliding_attention", "full_attention"]}
GPT_OSS |= {"rope_scaling": {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 8.0, "original_max_position_embeddings": 32}}
GPT_OSS["rope_scaling"] |= {"rope_type": "yarn", "truncate": False}
MXFP4 = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "lm_head"]}
YARN = {"factor": 8.0, "original_max_position_embeddings": 32, "rope_type": "yarn"}
LONGROPE = {
    "type": "longrope",
    "short_factor": [1.0 + 0.05 * i for i in range(12)],
    "long_factor": [1.0 + 0.6 * i for i in range(12)],
}
SMOLLM3 = COMMON | {"architectures": ["SmolLM3ForCausalLM"], "model_type": "smollm3", "attention_bias": False, "mlp_bias": False}
SMOLLM3 |= {"num_hidden_layers": 4, "no_rope_layers": [1, 0, 1, 0], "no_rope_layer_interval": 2, "use_sliding_window": False, "pad_token_id": 0}
GRANITE = COMMON | {"architectures": ["GraniteForCausalLM"], "model_type": "granite", "attention_bias": False, "mlp_bias": False}
GRANITE |= {"attention_multiplier": 0.5, "embedding_multiplier": 12.0, "logits_scaling": 2.0, "residual_multiplier": 0.22}
OLMO2 = COMMON | {"architectures": ["Olmo2ForCausalLM"], "model_type": "olmo2", "attention_bias": False, "rms_norm_eps": 1e-6}
PHI3 = COMMON | {"architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "sliding_window": 262144, "pad_token_id": 0}
GLM4 = COMMON | {"architectures": ["Glm4ForCausalLM"], "model_type": "glm4", "attention_bias": True, "head_dim": 16}
GLM4 |= {"partial_rotary_factor": 0.5, "rms_norm_eps": 1.5625e-07, "pad_token_id": 0}
GEMMA = COMMON | {"head_dim": 32, "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh"}
GEMMA |= {"attention_bias": False, "num_hidden_layers": 3, "rms_norm_eps": 1e-6, "sliding_window": 24, "tie_word_embeddings": True}
GEMMA2 = GEMMA | {"architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2", "query_pre_attn_scalar": 16}
GEMMA2 |= {"attn_logit_softcapping": 3.0, "final_logit_softcapping": 6.0, "tie_word_embeddings": False}
GEMMA3 = GEMMA | {"architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "query_pre_attn_scalar": 32}
GEMMA3 |= {"rope_local_base_freq": 100.0, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "rope_theta": 1000000.0}
GEMMA3 |= {"sliding_window_pattern": 3, "attn_logit_softcapping": None, "final_logit_softcapping": None}


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
    "mistral_small": (
        COMMON
        | {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": None, "head_dim": 24}
        | {"rope_theta": 1000000000.0, "torch_dtype": "bfloat16"},
        {"rope_theta": 1000.0},
    ),
    "smollm3": (SMOLLM3, {"no_rope_layers": [1, 1, 1, 1]}),
    "granite": (GRANITE, {"residual_multiplier": 1.0}),
    "olmo2": (OLMO2, "_norm.weight"),
    "olmo2_grouped": (OLMO2 | {"num_key_value_heads": 4, "torch_dtype": "float32"}, "_norm.weight"),
    "phi3": (PHI3 | {"sliding_window": 24}, {"sliding_window": None}),
    "phi3_longrope": (
        PHI3
        | {"head_dim": 32, "num_attention_heads": 2, "num_key_value_heads": 1, "original_max_position_embeddings": 32}
        | {"partial_rotary_factor": 0.75, "rope_scaling": LONGROPE},
        {"rope_scaling": None},
    ),
    "glm4": (GLM4, {"partial_rotary_factor": 1.0}),
    "glm4_unbiased": (GLM4 | {"attention_bias": False, "num_key_value_heads": 1}, {"partial_rotary_factor": 1.0}),
    "gemma2": (GEMMA2, {"attn_logit_softcapping": None}),
    "gemma3": (GEMMA3, {"rope_local_base_freq": 1000000.0}),
    "mixtral": (MIXTRAL, {"num_experts_per_tok": 1}),
    "qwen2_moe": (QWEN2_MOE, "mlp.shared_expert.down_proj.weight"),
    "olmoe": (OLMOE, "_norm.weight"),
    "qwen3_moe": (QWEN3_MOE, {"norm_topk_prob": False}),
    "deepseek_v2": (DEEPSEEK2, {"rope_scaling": DEEPSEEK_YARN | {"mscale": 0.707, "mscale_all_dim": 0.0001}}),
    "deepseek_v2_groups": (
        DEEPSEEK2
        | GROUPS
        | {"topk_method": "group_limited_greedy", "routed_scaling_factor": 4.0}
        | {"rope_scaling": DEEPSEEK_YARN | {"mscale": 1.0, "mscale_all_dim": 0.5}},
        {"topk_group": 4},
    ),
    "deepseek_v3": (DEEPSEEK3, {"routed_scaling_factor": 1.0}),
    "qwen3_moe_dense": (
        QWEN3_MOE | {"num_experts": 8, "num_experts_per_tok": 2, "num_hidden_layers": 4, "decoder_sparse_step": 2}
        | {"mlp_only_layers": [3]},
        {"norm_topk_prob": False},
    ),
    "glm4_moe": (GLM4_MOE, "e_score_correction_bias"),
    "glm4_moe_groups": (
        GLM4_MOE
        | {"use_qk_norm": True, "attention_bias": False, "n_routed_experts": 12, "num_experts_per_tok": 3, "n_group": 4}
        | {"topk_group": 2, "routed_scaling_factor": 2.5, "n_shared_experts": 2, "num_nextn_predict_layers": 0}
        | {"first_k_dense_replace": 2},
        {"topk_group": 4},
    ),
    "gpt_oss": (GPT_OSS, "sinks"),
    "gpt_oss_mxfp4": (
        GPT_OSS | {"num_local_experts": 9, "num_experts_per_tok": 4, "quantization_config": MXFP4, "torch_dtype": "bfloat16"},
        {"layer_types": ["full_attention", "full_attention"]},
    ),
}
SHARDED = ("llama3",)  # in two files with an index
