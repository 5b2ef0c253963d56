import { expect, test } from 'vitest'
import { HookConfig } from './hooks.ts'

const issues = (value: unknown) => HookConfig.safeParse(value).error?.issues

test.each([
  { pre_tool_use: [{ hooks: [{ command: 'true' }] }] },
  { PreToolUse: [{ hooks: [{ command: 'true' }] }] },
  { hooks: { PreToolUse: [{ hooks: [{ command: 'true' }] }] } },
])('three spellings of a hook configuration mean the same: %j', (value) => {
  const config = HookConfig.parse(value)
  expect(config.stop).toEqual([])
  expect(config.pre_tool_use).toEqual([
    {
      matcher: '*',
      hooks: [
        {
          type: 'command',
          name: null,
          command: 'true',
          prompt: null,
          system_prompt: null,
          tools: [],
          timeout: 60,
          max_iterations: 3,
          async: false,
        },
      ],
    },
  ])
})

test('async_ is read as async', () => {
  const config = HookConfig.parse({ stop: [{ hooks: [{ command: 'true', async_: true }] }] })
  expect(config.stop[0]?.hooks[0]?.async).toBe(true)
})

test('an unknown event name of a hook is refused by name', () => {
  expect(issues({ x: [] })).toMatchObject([{ code: 'unrecognized_keys', keys: ['x'], path: [] }])
})

test.each([
  [{ stop: [{ hooks: [{ command: 'true', on_eror: 'deny' }] }] }, 'on_eror', ['stop', 0, 'hooks', 0]],
  [{ stop: [{ match: 'terminal', hooks: [] }] }, 'match', ['stop', 0]],
])('an unknown property of a hook is refused by name: %j', (value, key, path) => {
  expect(issues(value)).toMatchObject([{ code: 'unrecognized_keys', keys: [key], path }])
})

test('one event name in two spellings is refused', () => {
  expect(issues({ Stop: [], stop: [] })).toMatchObject([{ params: { type: 'value_error' } }])
})

test.each([
  [{}, 'requires a command'],
  [{ type: 'prompt' }, 'requires a prompt'],
  [{ type: 'prompt', prompt: 'p', command: 'c' }, 'may have a command'],
  [{ type: 'agent', async: true }, 'can be async'],
])('the hook %j is refused', (hook, words) => {
  const [issue] = issues({ stop: [{ hooks: [hook] }] }) ?? []
  expect(issue).toMatchObject({ path: ['stop', 0, 'hooks', 0], params: { type: 'value_error' } })
  expect(issue?.message).toContain(words)
})
