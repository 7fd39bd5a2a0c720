"""The sizes of the tiny models: what each configuration of Hugging Face takes besides the common ones."""

VOCABULARY, CONTEXT = 512, 512

COMMON = {
    "vocab_size": VOCABULARY, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": CONTEXT, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip

HEAD = {"head_dim": 16}
# Half of a head is rotated: the kernel wants a multiple of eight there.
HALF_ROTATED = {"num_attention_heads": 2, "num_key_value_heads": 2, "partial_rotary_factor": 0.5, "tie_word_embeddings": False}
EXPERTS = {"num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
WINDOWED = {"sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"]}
CONVOLUTIONS = {"num_hidden_layers": 3, "layer_types": ["conv", "full_attention", "conv"], "conv_L_cache": 3, "block_auto_adjust_ff_dim": False}
RECURRENT = {
    "num_hidden_layers": 4, "layer_types": ["linear_attention"] * 3 + ["full_attention"], "full_attention_interval": 4, "linear_num_key_heads": 2,
    "linear_num_value_heads": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4, "tie_word_embeddings": True,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0, "mrope_section": [4, 2, 2], "mrope_interleaved": True},
}  # fmt: skip
SECTIONS = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 2, 2]}}
GEMMA4 = {
    **WINDOWED, **HEAD, "global_head_dim": 32, "num_global_key_value_heads": 2, "vocab_size_per_layer_input": VOCABULARY, "hidden_size_per_layer_input": 0,
    "num_kv_shared_layers": 0,
}  # fmt: skip
LONG_ROPE = {
    "original_max_position_embeddings": 256,
    "rope_parameters": {
        "rope_type": "longrope", "type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 256, "short_factor": [1.0] * 8, "long_factor": [2.0] * 8,
        "partial_rotary_factor": 1.0,
    },
}  # fmt: skip

# The decoder of a model that also has an encoder; alone, it reads no encoder's output.
WITH_ENCODER = {
    "d_model": 64, "decoder_layers": 2, "encoder_layers": 2, "decoder_attention_heads": 4, "encoder_attention_heads": 4, "decoder_ffn_dim": 96, "encoder_ffn_dim": 96,
    "is_decoder": True, "is_encoder_decoder": False,
}  # fmt: skip

# What a text needs besides COMMON, by the name of the model's class.
TEXTS = {
    "ArceeForCausalLM": {},
    "BartForCausalLM": WITH_ENCODER,
    "BigBirdPegasusForCausalLM": {**WITH_ENCODER, "attention_type": "original_full"},
    "BlenderbotForCausalLM": WITH_ENCODER,
    "BlenderbotSmallForCausalLM": WITH_ENCODER,
    "MBartForCausalLM": WITH_ENCODER,
    "MarianForCausalLM": {**WITH_ENCODER, "decoder_vocab_size": VOCABULARY},
    "PegasusForCausalLM": WITH_ENCODER,
    "BloomForCausalLM": {"n_layer": 2, "n_head": 4},
    "CodeGenForCausalLM": {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": CONTEXT, "n_ctx": CONTEXT, "rotary_dim": 8},
    "DeepseekV3ForCausalLM": {
        **EXPERTS, "n_routed_experts": 4, "n_group": 1, "topk_group": 1, "n_shared_experts": 1, "first_k_dense_replace": 1, "q_lora_rank": 32, "kv_lora_rank": 32,
        "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16, "num_key_value_heads": 4,
    },
    "Ernie4_5ForCausalLM": HEAD,
    "FalconForCausalLM": {"num_kv_heads": 4, "alibi": False, "new_decoder_architecture": False},
    "Gemma2ForCausalLM": {**HEAD, **WINDOWED, "query_pre_attn_scalar": 16},
    "Gemma3ForCausalLM": {**HEAD, **WINDOWED, "query_pre_attn_scalar": 16},
    "Gemma3ForConditionalGeneration": {**HEAD, **WINDOWED, "query_pre_attn_scalar": 16},
    "Gemma4ForConditionalGeneration": {**GEMMA4, "enable_moe_block": True, "num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 64},
    "Gemma4UnifiedForConditionalGeneration": GEMMA4,
    "GemmaForCausalLM": HEAD,
    "GlmForCausalLM": {**HEAD, "partial_rotary_factor": 0.5},
    "GPT2LMHeadModel": {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": CONTEXT, "n_ctx": CONTEXT},
    "GPTBigCodeForCausalLM": {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": CONTEXT},
    "GPTJForCausalLM": {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": CONTEXT, "rotary_dim": 8},
    "GPTNeoForCausalLM": {"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]], "window_size": 16},
    "GPTNeoXForCausalLM": {"rotary_pct": 0.5},
    "GptOssForCausalLM": {**HEAD, **WINDOWED, **EXPERTS, "num_experts_per_tok": 2},
    "GraniteForCausalLM": {"attention_multiplier": 0.25, "embedding_multiplier": 2.0, "logits_scaling": 2.0, "residual_multiplier": 0.5},
    "GraniteMoeHybridForCausalLM": {
        "layer_types": ["attention", "attention"], "num_local_experts": 0, "num_experts_per_tok": 0, "shared_intermediate_size": 96, "attention_multiplier": 0.25,
        "embedding_multiplier": 2.0, "logits_scaling": 2.0, "residual_multiplier": 0.5, "position_embedding_type": "rope", "tie_word_embeddings": False,
    },
    "HeliumForCausalLM": HEAD,
    "HunYuanDenseV1ForCausalLM": {**HEAD, "rope_parameters": {"rope_type": "dynamic", "rope_theta": 10000.0, "alpha": 2.0, "factor": 1.0, "type": "dynamic"}},
    "Lfm2ForCausalLM": CONVOLUTIONS,
    "Lfm2MoeForCausalLM": {**CONVOLUTIONS, **EXPERTS, "num_dense_layers": 1},
    "Lfm2VlForConditionalGeneration": CONVOLUTIONS,
    "Mistral3ForConditionalGeneration": HEAD,
    "MistralForCausalLM": {**HEAD, "sliding_window": None},
    "MptForCausalLM": {"d_model": 64, "n_layers": 2, "n_heads": 4, "max_seq_len": CONTEXT},
    "NemotronForCausalLM": {**HALF_ROTATED, "head_dim": 32, "num_key_value_heads": 1},
    "OPTForCausalLM": {"ffn_dim": 96, "word_embed_proj_dim": 64},
    "Phi3ForCausalLM": {"original_max_position_embeddings": CONTEXT, "sliding_window": None},
    "Phi3ForCausalLM, longrope": {**LONG_ROPE, "sliding_window": None},
    "PhiForCausalLM": HALF_ROTATED,
    "PhimoeForCausalLM": {**EXPERTS, **LONG_ROPE, "rope_parameters": {**LONG_ROPE["rope_parameters"], "short_mscale": 1.0, "long_mscale": 1.0}},
    "Qwen2_5_VLForConditionalGeneration": SECTIONS,
    "Qwen3_5ForConditionalGeneration": {**HEAD, **RECURRENT},
    "Qwen3_5MoeForConditionalGeneration": {**HEAD, **RECURRENT, **EXPERTS, "shared_expert_intermediate_size": 64},
    "Qwen3ForCausalLM": HEAD,
    "Qwen3MoeForCausalLM": {**HEAD, **EXPERTS},
    "Qwen3VLForConditionalGeneration": {**HEAD, "rope_parameters": {**SECTIONS["rope_parameters"], "mrope_interleaved": True}},
    "SmolLM3ForCausalLM": {"no_rope_layers": [1, 0]},
    "StableLmForCausalLM": {"partial_rotary_factor": 0.5},
}  # fmt: skip

# The encoder of images is made as small as its configuration allows, and never runs.
SIGLIP = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 16, "patch_size": 8, "num_channels": 3}
QWEN = {"depth": 1, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "out_hidden_size": 64, "patch_size": 8, "num_position_embeddings": 16}
VISIONS = {
    "Gemma3ForConditionalGeneration": {"vision_config": SIGLIP, "mm_tokens_per_image": 4},
    "Gemma4ForConditionalGeneration": {},
    "Gemma4UnifiedForConditionalGeneration": {},
    "Lfm2VlForConditionalGeneration": {"vision_config": {**SIGLIP, "num_patches": 4}, "projector_hidden_size": 64},
    "Mistral3ForConditionalGeneration": {"vision_config": {**SIGLIP, "head_dim": 16}},
    "Qwen2_5_VLForConditionalGeneration": {"vision_config": {**QWEN, "fullatt_block_indexes": [0], "window_size": 16}},
    "Qwen3_5ForConditionalGeneration": {"vision_config": QWEN},
    "Qwen3_5MoeForConditionalGeneration": {"vision_config": QWEN},
    "Qwen3VLForConditionalGeneration": {"vision_config": {**QWEN, "deepstack_visual_indexes": [0]}},
}

# What the exporters name otherwise than Hugging Face, and what they take that is not a decoder of text alone.
OTHER_NAMES = {"PhiMoEForCausalLM": "PhimoeForCausalLM", "Phi4MMForCausalLM": "Phi4MultimodalForCausalLM"}
NOT_DECODERS = {"WhisperForConditionalGeneration": "an encoder of audio with a decoder, not a decoder of text alone"}
# Models whose embedding has a scale of its own: larger random numbers there drown the layers.
SCALED_EMBEDDINGS = ("Gemma", "Granite", "MiniCPM")


def arguments(name):
    """The arguments of a configuration."""
    own = TEXTS.get(name, {})
    if name not in VISIONS:
        return {**COMMON, **own}
    tied = {"tie_word_embeddings": own["tie_word_embeddings"]} if "tie_word_embeddings" in own else {}
    return {"text_config": {**COMMON, **own}, **VISIONS[name], **tied}
