/**
 * Every analyzer, policy and kind of hook, end to end: a call waits, is approved, is rejected, is blocked; and the same
 * after kill -9, in a fork and after the conversation was unloaded.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  startScriptedModel,
  type ModelRequest,
  type ScriptedAnswer,
  type ScriptedModel,
} from '../../packages/server/testing/scripted-model.ts'
import {
  asked,
  ofKind,
  startRunning,
  type Loose,
  type Running,
} from '../../packages/server/testing/restartable-server.ts'
import {
  analyzerConfigs,
  runMessageAsCommand,
  RISKY,
  RISKY_ONLY,
  startMonitor,
  type Monitor,
} from '../../packages/server/testing/guarded-conversations.ts'
import { queryStore } from '../../packages/server/testing/chosen-store.ts'

const ALWAYS = { kind: 'AlwaysConfirm' }
const FORBIDDEN = 'HIGH : forbidden && echo done > proof'

let monitor: Monitor
let guardrail: ScriptedModel
beforeAll(async () => {
  monitor = await startMonitor()
  guardrail = await startScriptedModel({ respond: () => ({ text: 'RISK: HIGH' }) })
})
afterAll(async () => {
  await monitor[Symbol.asyncDispose]()
  await guardrail[Symbol.asyncDispose]()
})
const { ANALYZERS } = analyzerConfigs(() => ({ monitor: monitor.url, guardrail: guardrail.url }))

/** The agent's model, which also decides for hooks and denies forbidden calls. */
function model(request: ModelRequest): ScriptedAnswer {
  if (!request.text.includes('event of a conversation between people and an agent')) return runMessageAsCommand(request)
  const decision = request.view.lastUserText.includes('forbidden') ? 'deny' : 'allow'
  return { text: JSON.stringify({ decision, reason: 'forbidden' }) }
}

const HOOKS: Record<string, object> = {
  command: { command: `if grep -q forbidden; then echo forbidden >&2; exit 2; fi`, on_error: 'deny' },
  prompt: { type: 'prompt', name: 'rules', prompt: 'Keep the rules.', on_error: 'deny' },
  agent: { type: 'agent', name: 'rules', prompt: 'Keep the rules.', tools: ['file_editor'], on_error: 'deny' },
}
const guarded = (kind: string) => ({ pre_tool_use: [{ matcher: 'terminal', hooks: [HOOKS[kind]] }] })

/** Timeout of the monitor, long enough for a busy machine. */
const patient = (analyzer: Record<string, unknown>) => ('timeout' in analyzer ? { ...analyzer, timeout: 30 } : analyzer)

type Row = { name: string; waits: boolean; members: () => object }
const row = (name: string, waits: boolean, members: () => object): Row => ({ name, waits, members })
const ROWS: Row[] = [
  ...Object.entries(ANALYZERS).map(([name, analyzer]) =>
    row(name, true, () => ({
      security_analyzer: patient(analyzer()),
      confirmation_policy: RISKY_ONLY,
      hook_config: guarded('command'),
    })),
  ),
  row('AlwaysConfirm', true, () => ({ confirmation_policy: ALWAYS, hook_config: guarded('command') })),
  row('NeverConfirm', false, () => ({
    confirmation_policy: { kind: 'NeverConfirm' },
    hook_config: guarded('command'),
  })),
  row('ConfirmRisky without an analyzer', true, () => ({
    confirmation_policy: RISKY_ONLY,
    hook_config: guarded('command'),
  })),
  row('ConfirmRisky from LOW on', true, () => ({
    confirmation_policy: { kind: 'ConfirmRisky', threshold: 'LOW', confirm_unknown: false },
    security_analyzer: { kind: 'PatternSecurityAnalyzer' },
    hook_config: guarded('command'),
  })),
  ...Object.keys(HOOKS).map((kind) =>
    row(`a ${kind} hook`, true, () => ({ confirmation_policy: ALWAYS, hook_config: guarded(kind) })),
  ),
]

/** One conversation for each outcome of a call. */
type Trio = { row: Row; approved: string; rejected: string; blocked: string; risks: Record<string, string> }

const isDone = (server: Running, id: string): boolean => existsSync(join(server.work(id), 'proof'))
const respondTo = (server: Running, id: string, accept: boolean) =>
  server.call('POST', `/api/conversations/${id}/events/respond_to_confirmation`, { accept, reason: 'not here' })
const refusals = async (server: Running, id: string, source: string): Promise<number> =>
  ofKind(await server.events(id), 'UserRejectObservation').filter((event) => event.rejection_source === source).length

async function comesToWait(server: Running, id: string, { waits }: Row): Promise<Record<string, string>> {
  expect((await server.say(id, `HIGH ${RISKY}`)).status).toBe(200)
  await server.until(id, waits ? 'waiting_for_confirmation' : 'finished')
  return asked(await server.events(id))
}

/** `n`: number of the round, from 1. */
async function isBlocked(server: Running, id: string, n: number, folder = id): Promise<void> {
  expect((await server.say(id, FORBIDDEN)).status).toBe(200)
  while ((await refusals(server, id, 'hook')) < n) await new Promise((resolve) => setTimeout(resolve, 10))
  await server.until(id, 'finished')
  expect(isDone(server, folder)).toBe(false)
}

/** Runs until one call of each row waits for approval, one waits for rejection, and one has been blocked. */
const begin = (server: Running): Promise<Trio[]> =>
  Promise.all(
    ROWS.map(async (each) => {
      const start = () => server.start({ ...each.members(), autotitle: false })
      const [approved, rejected, blocked] = [await start(), await start(), await start()]
      const risks = await comesToWait(server, approved, each)
      if (each.waits) await comesToWait(server, rejected, each)
      await isBlocked(server, blocked, 1)
      expect([each.name, isDone(server, approved)]).toEqual([each.name, !each.waits])
      return { row: each, approved, rejected, blocked, risks }
    }),
  )

/** Approves and rejects the waiting calls and checks that the next calls wait and are blocked as before. */
const goOn = (server: Running, trios: readonly Trio[]): Promise<unknown> =>
  Promise.all(
    trios.map(async ({ row: each, approved, rejected, blocked, risks }) => {
      const { name } = each
      if (each.waits) {
        const info = (await server.call('GET', `/api/conversations/${approved}`)).body as Loose
        expect([name, info.execution_status, isDone(server, approved)]).toEqual([
          name,
          'waiting_for_confirmation',
          false,
        ])
        expect(asked(await server.events(approved))).toEqual(risks)
        expect((await respondTo(server, approved, true)).status).toBe(200)
        await server.until(approved, 'finished')
        expect([name, isDone(server, approved)]).toEqual([name, true])
        expect((await respondTo(server, rejected, false)).status).toBe(200)
        await server.until(rejected, 'idle')
        expect([name, await refusals(server, rejected, 'user'), isDone(server, rejected)]).toEqual([name, 1, false])
      }
      const next = await comesToWait(server, approved, each)
      expect([name, Object.values(next)]).toEqual([name, Object.values(risks)])
      await isBlocked(server, blocked, 2)
    }),
  )

test('a call waits, is approved, is rejected or is blocked with every analyzer, policy and hook', async () => {
  await using server = await startRunning(model)
  await goOn(server, await begin(server))
}, 60_000)

test('calls wait and are approved, rejected or blocked after kill -9 as before', async () => {
  await using server = await startRunning(model, {}, 'process')
  const trios = await begin(server)
  await server.kill()
  await goOn(server, trios)
}, 60_000)

test('calls wait and are approved, rejected or blocked after an unload as before', async () => {
  await using server = await startRunning(model, { PARLEY_IDLE_UNLOAD_SECONDS: '0.2' })
  const epochOf = async (id: string): Promise<unknown> =>
    (await queryStore(server.file('data'), 'SELECT epoch FROM conversations WHERE id = ?', id))[0]?.['epoch']
  const trios = await begin(server)
  const waiting = trios.filter((trio) => trio.row.waits)
  await Promise.all(
    waiting.map(async ({ approved }) => {
      // A command without an effect loads an unloaded conversation; each load raises the epoch.
      for (const before = await epochOf(approved); (await epochOf(approved)) === before;) {
        await new Promise((resolve) => setTimeout(resolve, 400))
        await server.call('POST', `/api/conversations/${approved}/pause`)
      }
    }),
  )
  await goOn(server, trios)
}, 60_000)

test('calls wait and are approved, rejected or blocked in forks, which execute no waiting call of their sources', async () => {
  await using server = await startRunning(model)
  const trios = await begin(server)
  const fork = async (id: string): Promise<string> => {
    const { body } = await server.call('POST', `/api/conversations/${id}/fork`, {})
    expect([id, body.execution_status]).toEqual([id, 'idle'])
    return body.id as string
  }
  await Promise.all(
    trios.map(async ({ row: each, ...of }) => {
      const { name } = each
      if (each.waits) {
        const [approved, rejected] = [await fork(of.approved), await fork(of.rejected)]
        await comesToWait(server, approved, each)
        await comesToWait(server, rejected, each)
        expect([name, isDone(server, of.approved)]).toEqual([name, false])
        await respondTo(server, rejected, false)
        await server.until(rejected, 'idle')
        await respondTo(server, approved, true)
        await server.until(approved, 'finished')
        // A fork uses the workspace of its source.
        expect([name, isDone(server, of.approved), isDone(server, of.rejected)]).toEqual([name, true, false])
        const source = (await server.call('GET', `/api/conversations/${of.approved}`)).body as Loose
        expect([name, source.execution_status]).toEqual([name, 'waiting_for_confirmation'])
      }
      await isBlocked(server, await fork(of.blocked), 2, of.blocked)
    }),
  )
}, 60_000)
