/** Effects of the members of an agent's record, as its model receives them. Source: interface.md, AgentBase. */
import { expect } from 'vitest'
import {
  startScriptedModel,
  type ModelRequest,
  type ScriptedAnswer,
} from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { verifies } from '../verifies.ts'
import { llmOf, message, start, starting } from '../../packages/server/testing/conversations.ts'

const toolsOf = ({ body }: ModelRequest): string[] =>
  ((body['tools'] ?? []) as { function: { name: string } }[]).map((tool) => tool.function.name)

verifies(
  [
    'seed.agent.native.tools',
    'seed.agent.acp.tools',
    'seed.agent.acp.include_default_tools',
    'seed.agent.acp.filter_tools_regex.filters',
  ],
  'the model is offered the named tools with their parameters and the default tools, and no others',
  async () => {
    const answers: ScriptedAnswer[] = [
      { toolCalls: [{ name: 'file_editor', arguments: { command: 'view', path: '/etc/hostname' } }] },
      { text: 'no' },
      { text: 'done' },
      { text: 'done' },
    ]
    await using model = await startScriptedModel({ answers })
    await using server = await startTestServer()
    const converse = async (agent: object) => {
      const request = starting(model, server.dir.file('work'), { agent, initial_message: message('go') })
      const task = await start(server, request)
      await task.is('finished', 'error', 'stuck')
      return task
    }
    const tools = [{ name: 'FileEditorTool', params: { confine: true } }, { name: 'task_tracker' }]
    const confined = await converse({ tools })
    // The parameter reached the tool.
    expect((await confined.kinds('ObservationEvent')).map(({ observation }) => observation.is_error)).toEqual([true])
    await converse({ tools, include_default_tools: ['ThinkTool'] })
    await converse({ tools, include_default_tools: [], filter_tools_regex: 'task' })
    expect(model.requests.map(toolsOf)).toEqual([
      ['file_editor', 'task_tracker', 'finish', 'think'],
      ['file_editor', 'task_tracker', 'finish', 'think'],
      ['file_editor', 'task_tracker', 'think'],
      ['task_tracker'],
    ])
  },
  60_000,
)

verifies(
  'seed.agent.acp.condenser.summarizing',
  'a condenser summarises the events between the first and the newest with its own model when there are too many',
  async () => {
    const steps = 8
    const think = (at: number): ScriptedAnswer => ({
      toolCalls: [{ id: `t${at}`, name: 'think', arguments: { thought: `thought ${at}` } }],
    })
    await using model = await startScriptedModel({
      answers: [...Array.from({ length: steps }, (_, at) => think(at)), { text: 'done' }],
    })
    await using other = await startScriptedModel({ respond: () => ({ text: 'SUMMARY OF THOUGHTS' }) })
    await using server = await startTestServer()
    const llm = llmOf(other, { usage_id: 'summing' })
    const condenser = { kind: 'LLMSummarizingCondenser', keep_first: 2, max_size: 10, llm }
    const request = { agent: { condenser }, initial_message: message('Think a lot.') }
    const task = await start(server, starting(model, server.dir.file('work'), request))
    await task.is('finished', 'error', 'stuck')

    const condensations = await task.kinds('Condensation')
    expect(condensations.length).toBeGreaterThan(0)
    expect(other.requests).toHaveLength(condensations.length)
    expect(other.requests[0]!.text).toContain('thought 1')
    const last = model.requests.at(-1)!.text
    expect(last).toContain('SUMMARY OF THOUGHTS')
    // The first two events stay: the prompt and the task.
    expect(last).toContain('Think a lot.')
    expect(last).not.toContain('thought 0')
    expect(last).toContain(`thought ${steps - 1}`)
    expect((await task.info()).stats.usage_to_metrics).toHaveProperty('summing')
    expect(model.requests.every(({ view }) => view.assistantTurns <= 10)).toBe(true)
  },
  60_000,
)
