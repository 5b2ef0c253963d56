import { expect, test } from 'vitest'
import { LLM } from '@parley/protocol'
import { featuresOf, type ModelFeatures } from './features.ts'

/** Each row of the table, with a name that it matches and one that it does not. */
test.each<[keyof ModelFeatures, string, boolean]>([
  ['reasoningEffort', 'openai/gpt-5', true],
  ['reasoningEffort', 'openai/gpt-4o', false],
  ['reasoningEffort', 'anthropic/claude-sonnet-4-5', true],
  ['cacheMarkers', 'litellm_proxy/prod/claude-opus-4-1', true],
  ['cacheMarkers', 'openai/gpt-5', false],
  ['needsReasoning', 'moonshot/kimi-k2-thinking', true],
  ['needsReasoning', 'openai/gpt-5', false],
  ['responsesApi', 'gpt-5.5', true],
  ['responsesApi', 'gpt-4.1', false],
  ['cacheRetention', 'gpt-5.1-codex-mini', true],
  ['cacheRetention', 'gpt-5-mini', false],
  ['vision', 'some/unknown-model', true],
  ['vision', 'openai/gpt-5', true],
  ['vision', 'deepseek/deepseek-chat', false],
  ['vision', 'moonshot/kimi-k2.6', true],
  ['vision', 'moonshot/kimi-k2-thinking', false],
  ['vision', 'groq/openai/gpt-oss-120b', false],
  ['inlineImages', 'moonshot/kimi-k3', true],
  ['inlineImages', 'openai/gpt-5', false],
  ['stringContent', 'deepseek/deepseek-chat', true],
  ['stringContent', 'zai/glm-4.5v', false],
  ['stringContent', 'openai/gpt-5', false],
  ['vision', 'zai/glm-4.5v', true],
  ['stopWords', 'openai/gpt-4o', true],
  ['stopWords', 'openai/o3', false],
  ['stopWords', 'xai/grok-4-0709', false],
  ['forgetsReasoning', 'anthropic/claude-sonnet-4-20250514', true],
  ['forgetsReasoning', 'anthropic/claude-sonnet-4-5-20250929', true],
  ['forgetsReasoning', 'openrouter/anthropic/claude-opus-4.1', true],
  ['forgetsReasoning', 'anthropic/claude-haiku-4-5', true],
  ['forgetsReasoning', 'anthropic/claude-opus-4-5-20251101', false],
  ['forgetsReasoning', 'anthropic/claude-sonnet-4-6', false],
  ['forgetsReasoning', 'anthropic/claude-sonnet-5', false],
  ['forgetsReasoning', 'openai/gpt-5', false],
])('the table says of %s of %s: %s', (feature, model, expected) => {
  expect(featuresOf(LLM.parse({ model }))[feature]).toBe(expected)
})

test.each<[keyof ModelFeatures, object, boolean]>([
  ['vision', { model: 'deepseek/deepseek-chat', capability_overrides: { supports_vision: true } }, true],
  ['vision', { model: 'openai/gpt-5', capability_overrides: { supports_vision: false } }, false],
  ['vision', { model: 'openai/gpt-5', disable_vision: true }, false],
  ['vision', { model: 'openai/own', model_canonical_name: 'deepseek-chat' }, false],
  ['inlineImages', { model: 'openai/gpt-5', inline_image_urls: true }, true],
  ['inlineImages', { model: 'moonshot/kimi-k3', inline_image_urls: false }, false],
  ['stringContent', { model: 'openai/own', force_string_serializer: true }, true],
  ['vision', { model: 'openai/own', force_string_serializer: true }, false],
  ['stopWords', { model: 'openai/o3', capability_overrides: { supports_stop_words: true } }, true],
])('a configuration overrides the table: %s of %o is %s', (feature, config, expected) => {
  expect(featuresOf(LLM.parse(config))[feature]).toBe(expected)
})
