import { Agent, ParleyError, type AgentInput } from '@parley/protocol'
import { expect, test } from 'vitest'
import { canonicalToolName, createTools } from './registry.ts'

const names = (agent: Partial<AgentInput>) => [
  ...createTools(Agent.parse({ llm: { model: 'scripted/x' }, ...agent })).keys(),
]
const refusal = (agent: Partial<AgentInput>): string => {
  try {
    names(agent)
  } catch (error) {
    expect(error).toBeInstanceOf(ParleyError)
    expect(error).toMatchObject({ code: 'invalid_input' })
    return (error as Error).message
  }
  return 'not refused'
}

test.each([
  ['TerminalTool', 'terminal'],
  ['terminal', 'terminal'],
  ['FileEditorTool', 'file_editor'],
  ['BrowserToolSet', 'browser_tool_set'],
])('the tool name %s is registered as %s', (name, canonical) => {
  expect(canonicalToolName(name)).toBe(canonical)
})

test('both spellings of a name select the same tools, and the built-in ones follow', () => {
  const tools = [{ name: 'TerminalTool' }, { name: 'file_editor' }, { name: 'TaskTrackerTool' }]
  expect(names({ tools })).toEqual(['terminal', 'file_editor', 'task_tracker', 'finish', 'think'])
})

test('without explicit tools there are the built-in ones, or none if none are included', () => {
  expect(names({})).toEqual(['finish', 'think'])
  expect(names({ include_default_tools: [] })).toEqual([])
})

test('the filter matches the beginning of the names of explicit tools only', () => {
  const tools = [{ name: 'terminal' }, { name: 'file_editor' }]
  expect(names({ tools, filter_tools_regex: 'file|nothing' })).toEqual(['file_editor', 'finish', 'think'])
  expect(names({ tools, filter_tools_regex: 'editor' })).toEqual(['finish', 'think'])
})

test.each<[Partial<AgentInput>, RegExp]>([
  [{ tools: [{ name: 'Hammer' }] }, /'Hammer' is not registered\. Known tools: terminal, file_editor, task_tracker/],
  [{ tools: [{ name: 'constructor' }] }, /not registered/],
  [{ include_default_tools: ['HammerTool'] }, /Known tools: finish, think/],
  [{ include_default_tools: ['constructor'] }, /Known tools: finish, think/],
  [{ tools: [{ name: 'terminal' }, { name: 'TerminalTool' }] }, /'terminal' is given twice/],
  [{ tools: [{ name: 'file_editor', params: { colour: 'red' } }] }, /Parameters of tool 'file_editor': .*colour/],
  [{ filter_tools_regex: '(' }, /not a regular expression/],
])('the selection %j is refused', (agent, reason) => {
  expect(refusal(agent)).toMatch(reason)
})

test('the delegate tool is defined under a kind that clients know, and called by its own name', () => {
  const tools = createTools({
    tools: [{ name: 'delegate', params: {} }],
    include_default_tools: [],
    filter_tools_regex: null,
  })
  const { definition, name } = tools.get('delegate')!
  expect([name, definition.kind, definition.title]).toEqual(['delegate', 'TaskTool', 'delegate'])
  expect([definition.action_type, definition.observation_type]).toEqual(['DelegateAction', 'DelegateObservation'])
})
