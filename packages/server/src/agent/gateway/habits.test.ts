import { Agent, asConversationId, type Observation } from '@parley/protocol'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordFacts } from '../../../../../test/facts.ts'
import { openTestNotes } from '../../../testing/call-notes.ts'
import { createTools, type Tool, type ToolContext } from '../../tools/index.ts'
import { never, openTestWorkspaces } from '../../workspace/workspace.testing.ts'
import { APP, HABIT_CALLS, type HabitCall } from './habit-calls.testing.ts'
import { normaliseCall } from './normalise-call.ts'

const toolsOf = (...names: string[]): Map<string, Tool> =>
  createTools(Agent.parse({ llm: { model: 'scripted/none' }, tools: names.map((name) => ({ name })) }))
const standard = toolsOf('terminal', 'file_editor', 'task_tracker')
const withPatch = toolsOf('terminal', 'apply_patch', 'task_tracker')

let spaces: Awaited<ReturnType<typeof openTestWorkspaces>>
let context: ToolContext
let close: () => Promise<void>
beforeAll(async () => {
  spaces = await openTestWorkspaces()
  const workspace = await spaces.open()
  const notes = await openTestNotes()
  const conversationId = asConversationId('c1')
  const services = await notes.servicesOf(conversationId)
  const dataDir = spaces.dir.file('tools')
  await mkdir(dataDir, { recursive: true })
  context = {
    conversationId,
    callId: '',
    workspace,
    dataDir,
    services,
    secretsFor: () => Promise.resolve({}),
    signal: never,
  }
  close = async () => {
    await notes[Symbol.asyncDispose]()
    await spaces[Symbol.asyncDispose]()
  }
})
afterAll(() => close())

const textOf = ({ content }: Observation): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('')

/** Makes the call as a model would. `error`: its refusal. */
async function make({ name, args, hasPatch }: HabitCall, callId: string) {
  const dir = context.workspace.workingDir
  await rm(join(dir, 'new.md'), { force: true })
  await writeFile(join(dir, 'app.py'), APP)
  const text = (typeof args === 'string' ? args : JSON.stringify(args)).replaceAll('$W', dir)
  const tools = hasPatch === true ? withPatch : standard
  const call = normaliseCall({ id: 'c', name, arguments: text }, tools, { usesRisk: false })
  if (call.kind === 'invalid') return { error: call.error }
  const observation = await call.tool.execute(call.action, { ...context, callId })
  const output = textOf(observation)
  const [app, created] = await Promise.all(
    ['app.py', 'new.md'].map((file) => readFile(join(dir, file), 'utf8').catch(() => null)),
  )
  return { tool: call.tool.name, action: call.action, output, isError: observation.is_error, app, created }
}

const outcomes: boolean[] = []

test.each(HABIT_CALLS.map((call, index) => [call.name, JSON.stringify(call.args), call, index] as const))(
  'a call to %s with %s has the effect that the model wants, or a refusal that says how to call',
  async (_name, _args, call, index) => {
    const made = await make(call, `call-${index}`)
    if ('refused' in call) {
      const refusal = made.error ?? (made.isError ? made.output : 'accepted')
      for (const part of call.refused) expect(refusal).toContain(part)
      return void outcomes.push(false)
    }
    expect(made).toMatchObject({ tool: call.tool })
    if (call.action !== undefined) expect(made.action).toMatchObject(call.action)
    if (call.output !== undefined) expect(made.output).toContain(call.output)
    if (call.created !== undefined) expect(made.created).toBe(call.created[1])
    expect(made.app).toBe(call.app ?? APP)
    outcomes.push(true)
  },
)

test('at least 60 shapes from public threads are tried, and 90 % of them are accepted', () => {
  const accepted = outcomes.filter(Boolean).length / HABIT_CALLS.length
  expect(new Set(HABIT_CALLS.map(({ name, args }) => `${name} ${JSON.stringify(args)}`)).size).toBeGreaterThanOrEqual(
    60,
  )
  for (const { source } of HABIT_CALLS)
    expect(source).toMatch(/^https:\/\/github\.com\/[\w.-]+\/[\w.-]+\/(issues|pull)\/\d+$/)
  expect(outcomes).toHaveLength(HABIT_CALLS.length)
  expect(accepted).toBeGreaterThanOrEqual(0.9)
  recordFacts('habits', {
    calls: HABIT_CALLS.length,
    threads: new Set(HABIT_CALLS.map(({ source }) => source)).size,
    accepted: Math.round(accepted * 1000) / 1000,
  })
})
