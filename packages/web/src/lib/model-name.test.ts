import { expect, test } from 'vitest'
import { modelOf, partsOf } from './model-name.ts'

test.each([
  ['openai/gpt-5.5', null, 'openai', 'gpt-5.5'],
  ['claude-sonnet-4-5', null, 'anthropic', 'claude-sonnet-4-5'],
  ['google/gemini-3-pro', null, 'gemini', 'gemini-3-pro'],
  ['openrouter/moonshotai/kimi-k2', null, 'openrouter', 'moonshotai/kimi-k2'],
  ['openai/anthropic/claude', 'http://proxy/v1', 'compatible', 'anthropic/claude'],
  ['local', 'http://proxy/v1', 'compatible', 'local'],
  ['groq/llama', null, 'groq', 'llama'],
])('the stored model %s is read as its provider and name', (model, baseUrl, provider, name) => {
  expect(partsOf(model, baseUrl)).toEqual({ provider, name, address: baseUrl ?? '' })
})

test('a compatible server is named with the prefix of the API that it has', () => {
  expect(modelOf({ provider: 'compatible', name: ' qwen/qwen3 ', address: 'http://proxy/v1' })).toBe(
    'openai/qwen/qwen3',
  )
  expect(modelOf({ provider: 'gemini', name: 'gemini-3-pro', address: '' })).toBe('gemini/gemini-3-pro')
})
