import { readFileSync } from 'node:fs'
import {
  asConversationId,
  asEventId,
  textContent,
  type Action,
  type ActionEvent,
  type TerminalObservation,
} from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tempDir, type TempDir } from '../../../testing/temp.ts'
import { openLocalWorkspaces, type Workspace, type Workspaces } from '../../workspace/index.ts'
import type { ToolContext } from '../tool.ts'
import { terminalTool } from './terminal-tool.ts'
import { OWNER, testRoots } from '../../../testing/roots.ts'

let dir: TempDir
let workspaces: Workspaces
let workspace: Workspace
const conversationId = asConversationId('terminal-tool')
const signal = new AbortController().signal
const tool = terminalTool({ no_change_timeout_seconds: 5 })
beforeAll(async () => {
  dir = await tempDir()
  workspaces = openLocalWorkspaces({ dataDir: dir.file('data'), roots: testRoots(dir.file('data')), idleExitMs: 0 })
  workspace = await workspaces.open({ conversationId, owner: OWNER, workingDir: dir.file('work'), epoch: 1 }, signal)
})
afterAll(async () => {
  await workspaces.release(conversationId)
  await workspaces[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

let calls = 0
const context = (secrets: Record<string, string> = {}, callId = `call-${calls++}`): ToolContext => ({
  conversationId,
  callId,
  workspace,
  dataDir: dir.file('tool'),
  secretsFor: (text) =>
    Promise.resolve(Object.fromEntries(Object.entries(secrets).filter(([name]) => text.includes(name)))),
  signal,
})
const execute = async (args: Record<string, unknown>, at = context()) =>
  (await tool.execute(tool.parse(args), at)) as TerminalObservation

const textOf = ({ content }: TerminalObservation) =>
  content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')

test('a terminal observation has the form of the wire', async () => {
  const action = tool.parse({ command: ' echo hi; echo there; (exit 3)\n' })
  expect(action).toEqual({
    kind: 'TerminalAction',
    command: ' echo hi; echo there; (exit 3)\n',
    is_input: false,
    timeout: null,
    reset: false,
  })
  expect(await tool.execute(action, context())).toEqual({
    kind: 'TerminalObservation',
    content: [textContent('hi\nthere')],
    is_error: false,
    command: ' echo hi; echo there; (exit 3)\n',
    exit_code: 3,
    timeout: false,
    metadata: {
      exit_code: 3,
      pid: expect.any(Number),
      username: expect.any(String),
      hostname: expect.any(String),
      working_dir: dir.file('work'),
      py_interpreter_path: expect.toSatisfy((path) => path === null || typeof path === 'string'),
      prefix: '',
      suffix: '',
    },
    full_output_save_dir: null,
  })
})

describe('arguments', () => {
  test.each([
    [{}],
    [{ command: 1 }],
    [{ command: 'x', other: 1 }],
    [{ command: 'x', timeout: -1 }],
    [{ command: '', reset: true, is_input: true }],
  ])('the arguments %j are refused', (args) => {
    expect(() => tool.parse(args)).toThrow()
  })

  test('parameters of the terminal tool are checked', () => {
    expect(() => terminalTool({ no_such: 1 })).toThrow()
    expect(() => terminalTool({ shell_path: '/bin/zsh' })).toThrow(/bash/)
    expect(() => terminalTool({ terminal_type: 'tmux', no_change_timeout_seconds: 10, env: { A: 'b' } })).not.toThrow()
  })

  test.each(['[{"a": 1}]', '["ls"]', "['ls', '-l']", '{"command": "ls"}', "{'a': 1}", '[[x'])(
    'a literal is not executed: %s',
    async (command) => {
      const observation = await execute({ command })
      expect(observation).toMatchObject({
        is_error: true,
        exit_code: -1,
        content: [{ text: expect.stringContaining('Not executed') }],
      })
    },
  )

  test.each(['[ 1 = 1 ]', '[[ 1 == 1 ]]', '{ true; }'])('a shell test or group is executed: %s', async (command) => {
    expect(await execute({ command })).toMatchObject({ is_error: false, exit_code: 0 })
  })
})

describe('a running command', () => {
  test('a running command is marked by exit code, flag and suffix, and can be continued', async () => {
    const first = await execute({ command: 'echo a; read -r x; echo "got $x"', timeout: 0.1 })
    expect(first).toMatchObject({ exit_code: -1, timeout: true, is_error: false, content: [{ text: 'a' }] })
    expect(first.metadata.suffix).toMatch(/not done after 0.1 seconds and is still running/)
    const refused = await execute({ command: 'ls' })
    expect(refused).toMatchObject({ is_error: true, exit_code: -1, timeout: false })
    expect(refused.content[0]).toMatchObject({ text: expect.stringContaining('Not executed') })
    const last = await execute({ command: 'it', is_input: true })
    expect(last).toMatchObject({ exit_code: 0, timeout: false, content: [{ text: 'got it' }] })
    expect(last.metadata.prefix).toMatch(/output of the previous command/)
    expect(await execute({ command: '' })).toMatchObject({
      is_error: true,
      content: [{ text: expect.stringContaining('No previous') }],
    })
  })

  test('a running command without output is reported as silent', async () => {
    const quick = terminalTool({ no_change_timeout_seconds: 0.05 })
    const observation = (await quick.execute(quick.parse({ command: 'sleep 30' }), context())) as TerminalObservation
    expect(observation).toMatchObject({ exit_code: -1, timeout: true })
    expect(observation.metadata.suffix).toMatch(/printed nothing for 0.05 seconds/)
    expect(await execute({ command: 'C-c', is_input: true })).toMatchObject({ exit_code: 130 })
  })

  test('the limit of silence doubles with each silent wait, and output starts it again', async () => {
    const quick = terminalTool({ no_change_timeout_seconds: 0.02 })
    const call = async (command: string, args: object = {}) => {
      const observation = await quick.execute(quick.parse({ command, ...args }), context())
      return (observation as TerminalObservation).metadata.suffix
    }
    expect(await call('read -r x; echo one; read -r x')).toMatch(/for 0.02 seconds.*to wait: for 0.04 seconds.*timeout/)
    expect(await call('')).toMatch(/for 0.04 seconds.*to wait: for 0.08 seconds/)
    for (const seconds of [0.08, 0.16, 0.32, 0.4, 0.4]) expect(await call('')).toContain(`for ${seconds} seconds and`)
    expect(await call('go', { is_input: true })).toMatch(/for 0.02 seconds/)
    expect(await call('')).toMatch(/for 0.02 seconds/)
    expect(await call('', { timeout: 0.01 })).toMatch(/not done after 0.01 seconds.*to wait: for 0.02 seconds/)
    expect(await call('C-c', { is_input: true })).toBe('')
  })

  test('a running command is ended by a reset', async () => {
    await execute({ command: 'x=1; sleep 30', timeout: 0 })
    const observation = await execute({ command: 'echo "[$x]"', reset: true })
    expect(observation).toMatchObject({ command: '[RESET] echo "[$x]"', exit_code: 0, content: [{ text: '[]' }] })
    expect(observation.metadata.prefix).toMatch(/reset/)
    expect(await execute({ command: '', reset: true })).toMatchObject({
      command: '[RESET]',
      exit_code: 0,
      is_error: false,
    })
  })
})

test('the end of the shell is an error that names the lost state', async () => {
  const observation = await execute({ command: 'exit 4' })
  expect(observation).toMatchObject({ is_error: true, exit_code: 4 })
  expect(observation.metadata.suffix).toMatch(/new shell/)
  expect(await execute({ command: 'true' })).toMatchObject({ exit_code: 0 })
})

test('long output is cut in the middle, and the whole of it saved once', async () => {
  const at = context()
  const observation = await execute({ command: 'seq 1 20000' }, at)
  const text = textOf(observation)
  expect(text.length).toBeLessThanOrEqual(30_000)
  expect(text).toMatch(/^1\n2\n[^]*19999\n20000$/)
  const [, path = '', line] = /is in (\S+); the gap begins in its line (\d+)/.exec(text) ?? []
  expect(path.startsWith(observation.full_output_save_dir ?? 'none')).toBe(true)
  const saved = readFileSync(path, 'utf8').split('\n')
  expect(saved).toHaveLength(20_000)
  expect(text.split('\n')[Number(line) - 1]?.length).toBeGreaterThan(0)
  expect(saved[Number(line) - 1]?.startsWith(text.split('\n')[Number(line) - 1] ?? '?')).toBe(true)
  expect(await execute({ command: 'seq 1 20000' }, at)).toEqual(observation)
})

test('a secret reaches the command that names it, no other, and no file', async () => {
  const secrets = { API_TOKEN: 'top-secret-value' }
  const observation = await execute({ command: 'echo "$API_TOKEN ${#API_TOKEN}"; seq 1 10000' }, context(secrets))
  expect(observation.content[0]).toMatchObject({ text: expect.stringMatching(/^<secret-hidden> 16\n/) })
  const text = textOf(observation)
  const [, path = ''] = /is in (\S+);/.exec(text) ?? []
  expect(readFileSync(path, 'utf8')).not.toContain('top-secret')
  expect((await execute({ command: 'env | grep -c TOKEN' }, context(secrets))).content[0]).toMatchObject({ text: '0' })
})

test('after a crash, known calls are attached, absent ones started and unknown ones left', async () => {
  const event = {
    kind: 'ActionEvent',
    id: asEventId('x'),
    action: tool.parse({ command: 'true' }) as Action,
  } as ActionEvent
  const at = { started_at: '', ended_at: '' }
  const recover = (ledger: Parameters<typeof tool.recover>[1]) => tool.recover(event, ledger, context())
  expect(await recover({ state: 'absent' })).toEqual({ kind: 'execute' })
  expect(await recover({ state: 'running', pid: 1, started_at: '' })).toEqual({ kind: 'execute' })
  expect(await recover({ state: 'exited', exit_code: 0, signal: null, ...at })).toEqual({ kind: 'execute' })
  expect(await recover({ state: 'unknown' })).toEqual({ kind: 'unknown' })
  const again = context()
  const first = await execute({ command: 'echo x >>once; wc -l <once' }, again)
  expect(await execute({ command: 'echo x >>once; wc -l <once' }, again)).toEqual(first)
})

test('the terminal definition is that of the wire, and one session is locked', () => {
  expect(tool.definition).toMatchObject({ kind: 'TerminalTool', title: 'terminal', action_type: 'TerminalAction' })
  expect(tool.resources(tool.parse({ command: 'ls' }), workspace)).toEqual(['terminal:session'])
  expect(tool.isReadOnly).toBe(false)
})
