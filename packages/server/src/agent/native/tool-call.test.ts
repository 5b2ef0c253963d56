import { Agent } from '@parley/protocol'
import { expect, test } from 'vitest'
import { createTools } from '../../tools/index.ts'
import { prepareCall, type InvalidCall, type PreparedCall } from './tool-call.ts'

const agent = (...names: string[]) =>
  Agent.parse({ llm: { model: 'scripted/none' }, tools: names.map((name) => ({ name })) })
const tools = createTools(agent('terminal', 'file_editor', 'task_tracker'))
const withoutTerminal = createTools(agent('file_editor'))

const prepare = (name: string, args: unknown, options: { usesRisk?: boolean; tools?: typeof tools } = {}) =>
  prepareCall(
    { id: 'call_1', name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
    options.tools ?? tools,
    { usesRisk: options.usesRisk ?? false },
  )

function prepared(...given: Parameters<typeof prepare>): PreparedCall {
  const call = prepare(...given)
  expect(call).toMatchObject({ kind: 'action' })
  return call as PreparedCall
}

function refused(...given: Parameters<typeof prepare>): InvalidCall {
  const call = prepare(...given)
  expect(call).toMatchObject({ kind: 'invalid' })
  return call as InvalidCall
}

test.each<[string, object, string, object]>([
  ['terminal', { command: 'ls' }, 'terminal', { command: 'ls' }],
  ['terminal</parameter', { command: 'ls' }, 'terminal', { command: 'ls' }],
  ['bash', { command: 'ls', timeout: 5 }, 'terminal', { command: 'ls', timeout: null }],
  ['bash <parameter=command', { command: 'ls' }, 'terminal', { command: 'ls' }],
  ['execute_bash', { command: 'ls', is_input: 'false' }, 'terminal', { command: 'ls', is_input: false }],
  ['git', { command: 'status' }, 'terminal', { command: 'git status' }],
  ['git', { command: 'git status' }, 'terminal', { command: 'git status' }],
  ['git', { command: 'github status' }, 'terminal', { command: 'git github status' }],
  ['git', {}, 'terminal', { command: 'git' }],
  ['pwd', { summary: 'where' }, 'terminal', { command: 'pwd' }],
  ['str_replace </parameter', { path: '/a', old_str: 'x', new_str: 'y' }, 'file_editor', { command: 'str_replace' }],
  ['str_replace_editor', { path: '/a', command: 'view' }, 'file_editor', { command: 'view' }],
  ['file_editor', { path: '/a', insert_line: 3, new_str: '' }, 'file_editor', { command: 'insert', insert_line: 3 }],
  ['file_editor', { path: '/a', file_text: '' }, 'file_editor', { command: 'create' }],
  ['file_editor', { path: '/a', view_range: '[1, 2]' }, 'file_editor', { command: 'view', view_range: [1, 2] }],
  [
    'task_tracker',
    { command: 'plan', task_list: '[{"title": "a"}]' },
    'task_tracker',
    { task_list: [{ title: 'a', notes: '', status: 'todo' }] },
  ],
])('%s with %j is %s with %j', (name, args, tool, action) => {
  const call = prepared(name, args)
  expect(call.tool.name).toBe(tool)
  expect(call.toolCall.name).toBe(tool)
  expect(call.action).toMatchObject(action)
})

test('grep becomes a search whose parts are quoted', () => {
  const { action } = prepared('grep', { pattern: `it's; rm -rf $(x)`, path: '/a b', include: '*.ts' })
  expect(action).toMatchObject({ kind: 'TerminalAction' })
  const { command } = action as { command: string }
  expect(command).toContain(`-e 'it'\\''s; rm -rf $(x)' -- '/a b'`)
  expect(command).toContain(`--glob '*.ts'`)
})

test('a registered tool is never taken for an alias', () => {
  const own = { ...tools.get('think')!, name: 'bash' }
  const call = prepareCall(
    { id: 'c', name: 'bash', arguments: '{"thought":"x"}' },
    new Map([...tools, ['bash', own]]),
    { usesRisk: false },
  )
  expect(call).toMatchObject({ kind: 'action', tool: { name: 'bash' }, action: { kind: 'ThinkAction' } })
})

test('an unknown tool is answered with the names there are', () => {
  expect(refused('fly', { to: 'secret-value' }).error).toBe(
    "Tool 'fly' not found. Available: [terminal, file_editor, task_tracker, finish, think]",
  )
  expect(refused('bash', { command: 'ls' }, { tools: withoutTerminal }).error).toMatch(/^Tool 'bash' not found/)
})

test.each<[string, unknown, RegExp]>([
  ['terminal', '{"command": "secret-value', /unparseable JSON/],
  ['terminal', { command: 7 }, /command: .*Parameters given: \[command\]/],
  ['terminal', { command: 'ls', colour: 'secret-value' }, /colour/],
  ['file_editor', {}, /no command is given/],
  ['file_editor', { command: 'secret-value', path: '/a' }, /command: /],
  ['finish', {}, /message/],
])('%s with %j is refused without a value in the text', (name, args, reason) => {
  const { error } = refused(name, args)
  expect(error).toMatch(/^Error validating tool/)
  expect(error).toMatch(reason)
  expect(error).not.toContain('secret-value')
})

test('arguments that are no JSON are stored as JSON, so that the call can be replayed', () => {
  expect(JSON.parse(refused('terminal', '{"command": ').toolCall.arguments)).toEqual({ unparseable_arguments: true })
})

test('what the model wrote is stored as it wrote it, unless it was repaired', () => {
  const text = '{ "command":  "ls", "security_risk": "LOW" }'
  expect(prepared('terminal', text).toolCall.arguments).toBe(text)
  expect(prepared('terminal', '{"command": "ls", "timeout": null}').toolCall.arguments).toBe('{"command":"ls"}')
  expect(prepared('bash', text).toolCall).toMatchObject({
    name: 'terminal',
    arguments: '{"security_risk":"LOW","command":"ls"}',
  })
})

test('risk and summary are taken out of the arguments and stay in the stored call', () => {
  const call = prepared(
    'terminal',
    { security_risk: 'medium', summary: ' lists files ', command: 'ls' },
    { usesRisk: true },
  )
  expect(call).toMatchObject({ predictedRisk: 'MEDIUM', summary: 'lists files' })
  expect(call.action).toEqual({ kind: 'TerminalAction', command: 'ls', is_input: false, timeout: null, reset: false })
  expect(JSON.parse(call.toolCall.arguments)).toHaveProperty('summary')
})

test.each<[string, object, boolean, string]>([
  ['terminal', { command: 'ls', security_risk: 'HIGH' }, false, 'UNKNOWN'],
  ['terminal', { command: 'ls', security_risk: 'wild' }, false, 'UNKNOWN'],
  ['terminal', { command: 'ls' }, true, 'UNKNOWN'],
  ['terminal', { command: 'ls', security_risk: 'HIGH' }, true, 'HIGH'],
  ['think', { thought: 'x', security_risk: 'wild' }, true, 'UNKNOWN'],
])('%s with %j (analyzer: %s) predicts %s', (name, args, usesRisk, risk) => {
  expect(prepared(name, args, { usesRisk }).predictedRisk).toBe(risk)
})

test('an invalid risk is refused where it counts', () => {
  expect(refused('terminal', { command: 'ls', security_risk: 'wild' }, { usesRisk: true }).error).toMatch(
    /security_risk must be one of/,
  )
})

test('without a summary the call describes itself, at bounded length', () => {
  expect(prepared('terminal', { command: 'ls', security_risk: 'LOW', summary: ' ' }).summary).toBe(
    'terminal: {"command":"ls"}',
  )
  expect(prepared('file_editor', { path: '/a', file_text: 'x'.repeat(9000) }).summary.length).toBe(500)
})

test("a tool's own summary is read and kept", () => {
  const own = {
    ...tools.get('think')!,
    name: 'note',
    parameters: { type: 'object', properties: { thought: {}, summary: { type: 'string' } } },
    parse: (args: Record<string, unknown>) => ({ kind: 'ThinkAction' as const, thought: JSON.stringify(args) }),
  }
  const call = prepareCall({ id: 'c', name: 'note', arguments: '{"summary":"mine"}' }, new Map([['note', own]]), {
    usesRisk: false,
  })
  expect(call).toMatchObject({ kind: 'action', summary: 'mine', action: { thought: '{"summary":"mine"}' } })
})
