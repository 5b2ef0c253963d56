/** The real engine over a real store whose appends fail on command, with agents that a test plays itself. */
import {
  Agent as AgentConfig,
  newEventId,
  textContent,
  type ActionEvent,
  type ClientToolSpec,
  type ConversationId,
  type Draft,
  type HookConfig,
  type StoredEvent,
} from '@parley/protocol'
import { openEngine, type Actor, type Engine, type EngineDeps, type Phase } from '../src/conversation/index.ts'
import { openLocalCoordination, type Coordination } from '../src/coordination/index.ts'
import type { Agent, Step, StepContext } from '../src/agent/index.ts'
import { openLimits, Quotas, type UserLimits } from '../src/quotas/index.ts'
import { makeMasker, openCipher } from '../src/secrets/index.ts'
import { openSqlite, type Append, type Storage } from '../src/storage/index.ts'
import type { ClientCalls } from '../src/tools/index.ts'
import { openCallNotes, openWorkspaceRemoval } from '../src/workspace/index.ts'
import { faultyStorage, type AppendFaults } from './faulty-storage.ts'
import { testRoots } from './roots.ts'
import { tempDir } from './temp.ts'
import { until } from './until.ts'

export const ANN = { user: 'ann', role: 'user', keyId: 'key' } as const

/** The parts of an agent that a test plays. */
export type Played = Partial<Pick<Agent, 'think' | 'execute' | 'recover' | 'condense' | 'interrupt'>>

type Members = {
  /** Default: `ANN`. */
  by?: Actor
  isIdle?: boolean
  max_budget_per_task?: number
  tags?: Record<string, string>
  autotitle?: boolean
  conversation_id?: ConversationId
  max_iterations?: number
  title?: string
  stuck_detection?: boolean
  agent?: object
  client_tools?: ClientToolSpec[]
  hook_config?: HookConfig
}

export type Bench = AsyncDisposable & {
  quotas: Quotas
  engine: Engine
  faults: AppendFaults
  /** Steps in which a model would have been asked. */
  asked: StepContext[]
  /** The agent from now on; unplayed parts keep the default: think answers 'done'. */
  play: (played: Played) => void
  /** Called with each conversation whose agent has ended. */
  onEnd: (ended: (id: ConversationId) => void) => void
  /** The calls of a client, as the agent of this conversation uses them. */
  clientCalls: (id: ConversationId) => ClientCalls
  /** Starts a conversation with a message, unless `isIdle`. */
  start: (members?: Members) => Promise<Conversation>
  /** Another engine on the same file, as of another process. */
  another: () => Promise<Engine>
}

export type Conversation = {
  id: ConversationId
  say: (text: string, run?: boolean) => Promise<void>
  send: (kind: 'interrupt' | 'pause' | 'run' | 'start' | 'stop') => Promise<void>
  events: () => Promise<StoredEvent[]>
  kinds: () => Promise<string[]>
  status: () => Promise<string>
  is: (status: string) => Promise<void>
}

export const answer = (text: string, seen_seq?: number): Draft[] => [spent(seen_seq), said(text)]

const said = (text: string): Draft =>
  ({
    kind: 'MessageEvent',
    source: 'agent',
    llm_message: { role: 'assistant', content: [textContent(text)] },
    llm_response_id: newEventId(),
    activated_skills: [],
    extended_content: [],
  }) as unknown as Draft

/** The record of a model call of 1 US dollar. */
const spent = (seen_seq?: number): Draft =>
  ({
    kind: 'UsageRecordedEvent',
    source: 'environment',
    usage_id: 'agent',
    model: 'm',
    response_id: 'r',
    cost: 1,
    latency: 0,
    tokens: { model: 'm' },
    ...(seen_seq === undefined ? {} : { seen_seq }),
  }) as unknown as Draft

/** An answer that calls a tool named `noop`. */
export const call = (id = newEventId()): Draft[] => [
  spent(),
  {
    id,
    kind: 'ActionEvent',
    source: 'agent',
    thought: [],
    reasoning_content: null,
    thinking_blocks: [],
    responses_reasoning_item: null,
    tool_name: 'noop',
    tool_call_id: `call-${id}`,
    tool_call: { id: `call-${id}`, name: 'noop', arguments: '{}', origin: 'completion' },
    llm_response_id: `response-${id}`,
    critic_result: null,
    action: { kind: 'NoopAction' },
    security_risk: 'LOW',
    summary: null,
  } as unknown as Draft,
]

export const result = ({ id, tool_call_id }: ActionEvent): Draft =>
  ({
    kind: 'ObservationEvent',
    source: 'environment',
    tool_name: 'noop',
    tool_call_id,
    action_id: id,
    observation: { kind: 'NoopObservation', content: [textContent('ok')], is_error: false },
    extended_content: [],
  }) as unknown as Draft

/** @param endProcesses called to end the processes of a conversation, which have ended when it resolves */
export async function openBench({
  runSlots = 4,
  quotas = unlimited,
  endProcesses = async () => undefined,
  runs = {},
  ...changed
}: {
  runSlots?: number
  quotas?: (storage: Storage, runSlots: number) => Quotas
  endProcesses?: () => Promise<void>
  /** Replaces single members of an observer that does nothing. */
  runs?: Partial<EngineDeps['runs']>
} & Partial<EngineDepsOfTests> = {}): Promise<Bench> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const path = dir.file('parley.db')
  const { storage, faults } = faultyStorage(stack.use(await openSqlite({ path })))
  const asked: StepContext[] = []
  const clientCalls = new Map<ConversationId, ClientCalls>()
  let played: Played = {}
  let onEnd: (id: ConversationId) => void = () => undefined
  const agent: Agent = {
    preamble: () => [],
    async *think(context, signal): Step {
      asked.push(context)
      if (played.think !== undefined) return yield* played.think(context, signal)
      yield answer('done', context.state().seq)
    },
    async *execute(actions, context, signal): Step {
      if (played.execute !== undefined) return yield* played.execute(actions, context, signal)
      yield actions.map(result)
    },
    async *recover(actions, context, signal): Step {
      if (played.recover !== undefined) return yield* played.recover(actions, context, signal)
      yield actions.map(result)
    },
    async *condense(context, signal): Step {
      if (played.condense !== undefined) return yield* played.condense(context, signal)
    },
    ask: async () => ({ text: 'aside', drafts: [spent()] }),
    reconfigure: () => undefined,
    interrupt: async () => played.interrupt?.(),
    [Symbol.asyncDispose]: async () => undefined,
  }
  const masker = makeMasker([])
  const cipher = await openCipher({ keyText: 'bench', keyFile: '', salt: '' })
  const notesIn = ({ notes }: Pick<Storage, 'notes'>) =>
    openCallNotes({ notes, cipher, proof: { noted: async () => undefined } })
  const workspaces = { release: endProcesses } as unknown as EngineDeps['workspaces']
  const log = { warn: () => undefined, error: () => undefined } as unknown as EngineDeps['log']
  const deps: EngineDeps = {
    storage,
    coordination: await alone(storage),
    cipher,
    notes: notesIn(storage),
    workspaces,
    roots: testRoots(dir.file('data')),
    removal: openWorkspaceRemoval({ store: storage.workspaces, workspaces, dataDir: dir.path, account: null, log }),
    openAgent: async (opening) => {
      clientCalls.set(opening.id, opening.clientCalls!)
      return { ...agent, [Symbol.asyncDispose]: async () => onEnd(opening.id) }
    },
    openHooks: () => Promise.reject(new Error('no hooks')),
    phases: [],
    pruning: { keepTokens: Infinity, leastTokens: Infinity },
    findLlm: async () => null,
    judgeModel: () => Promise.reject(new Error('no judge')),
    isSuspended: () => false,
    mask: (drafts) => drafts,
    maskForCommit: async (drafts, user, record) => ({
      drafts: await deps.mask(drafts, user, record),
      masked: { user, version: 0 },
    }),
    masker: async () => masker,
    log,
    acceptAnalyzer: async (analyzer) => analyzer,
    llmNames: async () => [],
    findDefinitions: async () => [],
    now: () => new Date(),
    dataDir: dir.path,
    foldersDir: dir.file('conversations'),
    ephemeral: false,
    idleUnloadMs: 60_000,
    quotas: quotas(storage, runSlots),
    notifies: () => false,
    runs: { began: async () => undefined, ended: async () => undefined, stepped: () => undefined, ...runs },
    onAppendRetry: () => undefined,
    appendBackoff: { baseMs: 5, maxMs: 40 },
    ...changed,
  }
  const engine = openEngine(deps)
  stack.defer(() => engine.close())
  const open = stack.move()
  return {
    engine,
    quotas: deps.quotas,
    faults,
    asked,
    play: (next) => void (played = next),
    onEnd: (ended) => void (onEnd = ended),
    clientCalls: (id) => clientCalls.get(id)!,
    start: (members) => startOn(engine, members),
    async another() {
      const own = open.use(await openSqlite({ path }))
      const other = openEngine({ ...deps, storage: own, coordination: await alone(own), notes: notesIn(own) })
      open.defer(() => other.close())
      return other
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

type EngineDepsOfTests = Pick<
  EngineDeps,
  | 'mask'
  | 'masker'
  | 'log'
  | 'appendBackoff'
  | 'idleUnloadMs'
  | 'phases'
  | 'notifies'
  | 'openHooks'
  | 'judgeModel'
  | 'openLlm'
>

/** The coordination of the only node of a store. */
const alone = (storage: Storage): Promise<Coordination> =>
  openLocalCoordination({
    storage,
    self: { url: 'http://none.invalid', version: '0', places: [] },
    now: () => new Date(),
  })

/** Quotas without limits of users. */
const unlimited = ({ usage }: Storage, maxConcurrentRuns: number): Quotas => {
  const limits = openLimits({ everyone: {}, users: new Map() }, false)
  return new Quotas({ limits, maxConcurrentRuns, isShared: false, usage, nodes: () => 1, now: () => new Date() })
}

/** Quotas of a server with several users, with these limits of each. */
export const sharedQuotas =
  (everyone: Partial<UserLimits>, now = () => new Date()) =>
  ({ usage }: Storage): Quotas =>
    new Quotas({
      limits: openLimits({ everyone, users: new Map() }, true),
      maxConcurrentRuns: 64,
      isShared: true,
      usage,
      nodes: () => 1,
      now,
    })

async function startOn(
  engine: Engine,
  { isIdle = false, agent = {}, by = ANN, ...members }: Members = {},
): Promise<Conversation> {
  const { info } = await engine.start(
    {
      agent: AgentConfig.parse({ llm: { model: 'openai/played' }, ...agent }),
      autotitle: false,
      fingerprint: '',
      ...(isIdle ? {} : { initial_message: { content: [{ ...textContent('begin'), cache_prompt: false }] } }),
      ...members,
    } as Parameters<Engine['start']>[0],
    by,
  )
  return conversationOf(engine, info.id)
}

export function conversationOf(engine: Engine, id: ConversationId): Conversation {
  const events = async () => (await engine.searchEvents(id, { filter: {}, order: 'asc', limit: 1000 }, ANN)).items
  const status = async () => (await engine.info(id, ANN)).execution_status
  return {
    id,
    say: (text, run = true) =>
      engine.send(id, { kind: 'send_message', content: [{ ...textContent(text), cache_prompt: false }], run }, ANN),
    send: (kind) => engine.send(id, { kind }, ANN),
    events,
    kinds: async () => (await events()).map(({ event }) => event.kind),
    status,
    is: (wanted) => until(async () => (await status()) === wanted, 10_000),
  }
}

/** Number of stored events of one kind. */
export const count = (events: readonly StoredEvent[], kind: string): number =>
  events.filter(({ event }) => event.kind === kind).length

/** Contents of the stored messages, as JSON. */
export const texts = (events: readonly StoredEvent[]): string[] =>
  events.flatMap(({ event }) => (event.kind === 'MessageEvent' ? [JSON.stringify(event.llm_message.content)] : []))

/** A point that a test waits for, and one that it opens. */
export const gate = () => ({ reached: Promise.withResolvers<void>(), open: Promise.withResolvers<void>() })

/** Holds the next append that `isMeant` accepts, before it reaches the store. Replaces `faults.before`. */
export function holdAppend({ faults }: Bench, isMeant: (append: Append) => boolean) {
  const held = gate()
  faults.before = async (append) => {
    if (!isMeant(append)) return
    faults.before = async () => undefined
    held.reached.resolve()
    await held.open.promise
  }
  return held
}

/** True for the append of an agent's message. */
export const isAnswer = ({ events }: Append): boolean =>
  events.some(({ event }) => event.kind === 'MessageEvent' && event.source === 'agent')

/** A phase of the start that does `run`. */
export const phaseOf = (run: Phase['run'], applies: Phase['applies'] = () => true): Phase => ({
  name: 'setup',
  deadlineMs: 60_000,
  timeoutCode: 'late',
  subject: () => 'The phase',
  applies,
  run,
})

/** Resolves in the next turn of the event loop, after all work that waits for neither the store nor a timer. */
export const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
