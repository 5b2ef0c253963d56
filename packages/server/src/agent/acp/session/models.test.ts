import { expect, test } from 'vitest'
import { modelsOf, switchRequests } from './models.ts'

test('models that are not reported are null, and an empty list stays empty', () => {
  expect(modelsOf({})).toEqual({ current: null, available: null, option: null })
  expect(modelsOf({ models: { currentModelId: 'x', availableModels: [] } })).toEqual({
    current: 'x',
    available: [],
    option: null,
  })
})

test('an effort in the model name is a separate option only for agents that split it', () => {
  expect(switchRequests('s', 'gpt/high', null, false)).toEqual([
    { method: 'session/set_model', params: { sessionId: 's', modelId: 'gpt/high' } },
  ])
  expect(switchRequests('s', 'gpt/high', 'm', true).map(({ params }) => params['value'])).toEqual(['gpt', 'high'])
  expect(switchRequests('s', 'gpt/odd', 'm', true).map(({ params }) => params['value'])).toEqual(['gpt/odd'])
})
