/** For tests: a native agent over a real workspace and a scripted model. */
import { openTestLlm, testFetch } from '../../../testing/requests.ts'
import { Agent, type AgentInput, type ConversationState, type LLMInput } from '@parley/protocol'
import { mkdir } from 'node:fs/promises'
import { openTestNotes } from '../../../testing/call-notes.ts'
import { startScriptedModel, type ScriptedAnswer, type ScriptedModelOptions } from '../../../testing/scripted-model.ts'
import { tempDir } from '../../../testing/temp.ts'
import { createLocks } from '../../tools/index.ts'
import { openLocalWorkspaces } from '../../workspace/index.ts'
import { notice } from '../drafts.ts'
import { NO_FILES } from '../prompts/files.ts'
import type { PruneLimits } from '../view/pruning.ts'
import { createNativeAgent, type NativeAgentDeps } from './native-agent.ts'
import { CONVERSATION, never, StepDriver } from './step-driver.testing.ts'
import { OWNER, testRoots } from '../../../testing/roots.ts'

const log = { warn: () => undefined, error: () => undefined }

/** No secrets, no hooks, no services but those of a store; every risk is UNKNOWN. */
const BARE_AGENT_DEPS = {
  secrets: [],
  secretsFor: () => Promise.resolve({}),
  analyze: () => Promise.resolve({ risk: 'UNKNOWN', costs: [], reasons: [] }),
  hooks: {
    before: () => Promise.resolve({ blocked: null, drafts: [] }),
    after: () => Promise.resolve({ drafts: [] }),
  },
  clientTools: [],
  visionProfiles: () => Promise.resolve([]),
  completeConfig: (config) => Promise.resolve(config),
  promptFiles: () => NO_FILES,
  callSummaries: true,
  onCallEnd: () => undefined,
} satisfies Partial<NativeAgentDeps>

export type TestAgentOptions = {
  agent?: Partial<AgentInput>
  llm?: LLMInput
  /** Members of a condenser whose model is the agent's own; absent: no condenser. */
  condenser?: object
  /** Members in which the condenser's model differs from the agent's. */
  condenserLlm?: LLMInput
  state?: Partial<ConversationState>
  deps?: Partial<NativeAgentDeps>
  /** Selects the answers of the model by its requests. */
  respond?: ScriptedModelOptions['respond']
  /** When the content of old results is left out; absent: never. */
  limits?: PruneLimits
}

/** Opens an agent with its system prompt and a first message; the test drives its steps. */
export async function openTestAgent(
  answers: readonly ScriptedAnswer[] | ((work: string) => ScriptedAnswer[]),
  options: TestAgentOptions = {},
) {
  const dir = await tempDir()
  await mkdir(dir.file('work'))
  const model = await startScriptedModel({
    answers: typeof answers === 'function' ? answers(dir.file('work')) : answers,
    ...(options.respond === undefined ? {} : { respond: options.respond }),
  })
  const llm = {
    model: 'openai/test',
    base_url: `${model.url}/v1`,
    api_key: 'k',
    stream: true,
    num_retries: 0,
    usage_id: 'agent',
    ...options.llm,
  }
  const condenser = {
    kind: 'LLMSummarizingCondenser',
    llm: { ...llm, ...options.condenserLlm },
    ...options.condenser,
  }
  const config = Agent.parse({
    llm,
    ...(options.condenser === undefined ? {} : { condenser }),
    tools: [{ name: 'FileEditorTool' }, { name: 'task_tracker' }],
    ...options.agent,
  })
  const workspaces = openLocalWorkspaces({
    dataDir: dir.file('server'),
    roots: testRoots(dir.file('server')),
    idleExitMs: 200,
  })
  const workspace = await workspaces.open(
    { conversationId: CONVERSATION, owner: OWNER, workingDir: dir.file('work'), epoch: 1 },
    never,
  )
  const notes = await openTestNotes()
  const deps = {
    ...BARE_AGENT_DEPS,
    services: await notes.servicesOf(CONVERSATION),
    openLlm: openTestLlm,
    fetchCritic: testFetch,
    workspace,
    dataDir: dir.file('data'),
    conversationId: CONVERSATION,
    locks: createLocks(),
    confirm: async (signal: AbortSignal) => signal.throwIfAborted(),
    log,
  }
  const agent = createNativeAgent(config, { ...deps, ...options.deps })
  const driver = new StepDriver(options.state, options.limits)
  driver.commit(agent.preamble(driver.state))
  driver.commit([{ ...notice('do it'), source: 'user' } as ReturnType<typeof notice>])
  return {
    agent,
    config,
    workspace,
    model,
    driver,
    at: (name: string) => dir.file('work', name),
    think: () => driver.drive(agent.think(driver.context, never)),
    execute: () => driver.drive(agent.execute(driver.open(), driver.context, never)),
    recover: () => driver.drive(agent.recover(driver.open(), driver.context, never)),
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]()
      await workspaces[Symbol.asyncDispose]()
      await notes[Symbol.asyncDispose]()
      await model[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}
