/** For tests of this room: a native agent over a real workspace and a scripted model. */
import { Agent, type AgentInput, type ConversationState, type LLMInput } from '@parley/protocol'
import { mkdir } from 'node:fs/promises'
import { startScriptedModel, type ScriptedAnswer } from '../../../testing/scripted-model.ts'
import { tempDir } from '../../../testing/temp.ts'
import { openLlm } from '../../llm/index.ts'
import { createLocks } from '../../tools/index.ts'
import { openLocalWorkspaces } from '../../workspace/index.ts'
import { notice } from './drafts.ts'
import { CONVERSATION, Driver, never } from './driver.testing.ts'
import { createNativeAgent, type NativeAgentDeps } from './native-agent.ts'

const log = { warn: () => undefined, error: () => undefined }

export type BenchOptions = {
  agent?: Partial<AgentInput>
  llm?: LLMInput
  /** Members of a condenser whose model is the agent's own; absent: no condenser. */
  condenser?: object
  state?: Partial<ConversationState>
  deps?: Partial<NativeAgentDeps>
}

/** The agent has its system prompt and a first message; a test drives it step by step. */
export async function bench(
  answers: readonly ScriptedAnswer[] | ((work: string) => ScriptedAnswer[]),
  options: BenchOptions = {},
) {
  const dir = await tempDir()
  await mkdir(dir.file('work'))
  const model = await startScriptedModel({
    answers: typeof answers === 'function' ? answers(dir.file('work')) : answers,
    strict: true,
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
  const condenser = { kind: 'LLMSummarizingCondenser', llm, ...options.condenser }
  const config = Agent.parse({
    llm,
    ...(options.condenser === undefined ? {} : { condenser }),
    tools: [{ name: 'FileEditorTool' }, { name: 'task_tracker' }],
    ...options.agent,
  })
  const workspaces = openLocalWorkspaces({ dataDir: dir.file('server'), idleExitMs: 200 })
  const workspace = await workspaces.open(
    { conversationId: CONVERSATION, workingDir: dir.file('work'), epoch: 1 },
    never,
  )
  const deps = {
    openLlm,
    workspace,
    dataDir: dir.file('data'),
    conversationId: CONVERSATION,
    locks: createLocks(),
    log,
  }
  const agent = createNativeAgent(config, { ...deps, ...options.deps })
  const driver = new Driver(options.state)
  driver.commit(agent.preamble())
  driver.commit([{ ...notice('do it'), source: 'user' } as ReturnType<typeof notice>])
  return {
    agent,
    workspace,
    model,
    driver,
    at: (name: string) => dir.file('work', name),
    think: () => driver.drive(agent.think(driver.turn, never)),
    execute: () => driver.drive(agent.execute(driver.open(), driver.turn, never)),
    recover: () => driver.drive(agent.recover(driver.open(), driver.turn, never)),
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]()
      await workspaces[Symbol.asyncDispose]()
      await model[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}
