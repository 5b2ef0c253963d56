import { expect, test } from 'vitest'
import { familyOf } from './model-family.ts'

test.each<[string, string | null, string | null, string | null]>([
  ['openai/gpt-4o', null, 'openai_gpt', null],
  ['openai/o3-mini', null, 'openai_gpt', null],
  ['gpt-5.2', null, 'openai_gpt', 'gpt-5'],
  ['openai/gpt-5.1-codex-max', null, 'openai_gpt', 'gpt-5-codex'],
  ['codex-mini-latest', null, 'openai_gpt', 'gpt-5-codex'],
  ['litellm_proxy/prod/claude-opus-4-1', null, 'anthropic_claude', null],
  ['gemini/gemini-3-pro', null, 'google_gemini', null],
  ['meta-llama/llama-3.3-70b', null, 'meta_llama', null],
  ['ollama/qwen3', null, 'alibaba_qwen', null],
  ['mistral/mistral-large', null, 'mistral', null],
  ['deepseek/deepseek-chat', null, 'deepseek', null],
  ['own/model', 'gpt-5-codex', 'openai_gpt', 'gpt-5-codex'],
  ['own/model', null, null, null],
  ['moonshot/kimi-k2-pro1', null, null, null],
])(
  'the model %s with the canonical name %s has the family %s and the variant %s',
  (model, model_canonical_name, family, variant) => {
    expect(familyOf({ model, model_canonical_name })).toEqual({ family, variant })
  },
)
