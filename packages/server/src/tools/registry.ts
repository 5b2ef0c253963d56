/** Registry of tools by name: creates and checks the tools of an agent's configuration. Source: agent-core.md 8.1. */
import {
  type Agent,
  ClientToolSpec,
  hasInvocable,
  invalidInput,
  type Place,
  type Tool as ToolSpec,
} from '@parley/protocol'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { applyPatchTool } from './apply-patch/apply-patch-tool.ts'
import { BrowserParams, browserToolSet } from './browser/tool-set.ts'
import { clientTool } from './client-tool.ts'
import { fileEditorTool } from './file-editor/file-editor-tool.ts'
import { finishTool } from './finish-tool.ts'
import { globTool } from './search/glob-tool.ts'
import { grepTool } from './search/grep-tool.ts'
import { delegateTool, taskTool, type SubAgentType } from './sub-agents/index.ts'
import { invokeSkillTool } from './invoke-skill-tool.ts'
import { switchLlmTool } from './models/switch-llm-tool.ts'
import { visionInspectTool } from './models/vision-inspect-tool.ts'
import { nameFilter } from './name-filter.ts'
import { PlanningEditorParams, planningEditorTool } from './planning-editor/planning-editor-tool.ts'
import { taskTrackerTool } from './task-tracker-tool.ts'
import { terminalTool } from './terminal/terminal-tool.ts'
import { thinkTool } from './think-tool.ts'
import type { Tool } from './tool.ts'

type Params = Record<string, unknown>
/** @throws z.ZodError for unknown parameters of the tool. */
type Make = (params: Params, subAgents?: readonly SubAgentType[]) => Tool | Tool[]

const none = z.strictObject({})
const FileEditorParams = z.strictObject({ confine: z.boolean().exactOptional() })
const SearchParams = FileEditorParams

const takesNone =
  (make: () => Tool): Make =>
  (params) => {
    none.parse(params)
    return make()
  }

function withSubAgents(makeOf: (types?: readonly SubAgentType[]) => Tool): Make {
  return (params, types) => {
    none.parse(params)
    return makeOf(types)
  }
}

/** Tools that may be named in `agent.tools`. */
const EXPLICIT: ReadonlyMap<string, Make> = new Map([
  ['terminal', (params) => terminalTool(params)],
  ['file_editor', (params) => fileEditorTool(FileEditorParams.parse(params))],
  ['task_tracker', takesNone(taskTrackerTool)],
  ['grep', (params) => grepTool(SearchParams.parse(params))],
  ['glob', (params) => globTool(SearchParams.parse(params))],
  ['apply_patch', takesNone(applyPatchTool)],
  ['planning_file_editor', (params) => planningEditorTool(PlanningEditorParams.parse(params))],
  [
    'browser_tool_set',
    (params) => {
      BrowserParams.parse(params)
      return browserToolSet()
    },
  ],
  ['task_tool_set', withSubAgents(taskTool)],
  ['task', withSubAgents(taskTool)],
  ['delegate', withSubAgents(delegateTool)],
])

/** Tools that may be named in `agent.include_default_tools`, besides the one for skills. */
const BUILT_IN: ReadonlyMap<string, () => Tool> = new Map([
  ['finish', finishTool],
  ['think', thinkTool],
  ['switch_llm', switchLlmTool],
  ['vision_inspect', visionInspectTool],
])

/** Returns the names that a client may use. */
export const toolNames = (): string[] => [...EXPLICIT.keys(), ...BUILT_IN.keys()].toSorted()

/** Returns the names under which models call the tools of this registry. */
export const standardToolNames = (): string[] => {
  const explicit = [...EXPLICIT.values()].flatMap((tool) => tool({}))
  const builtIn = [...BUILT_IN.values()].map((tool) => tool())
  return [...new Set([...explicit, ...builtIn, invokeSkillTool(null)].map(({ name }) => name))]
}

/** Returns the registered spelling of a tool's name: `TerminalTool` and `terminal` are the same. */
export function canonicalToolName(name: string): string {
  const bare = name.replace(/Tool$/, '')
  return bare.replaceAll(/(?<=[a-z0-9])[A-Z]/g, '_$&').toLowerCase()
}

export type ToolSelection = Pick<Agent, 'tools' | 'include_default_tools' | 'filter_tools_regex'> & {
  /** If it contains a skill that can be invoked by name, the tool for skills is added. */
  agent_context?: Agent['agent_context']
  /** Declared by the client of the conversation. */
  client_tools?: readonly ClientToolSpec[]
  /** Types of sub-agents in the descriptions for the model. Absent: the built-in ones. */
  sub_agents?: readonly SubAgentType[] | undefined
}

/**
 * Returns the tools of an agent by the name for the model: the explicit ones that the filter accepts, then the built-in
 * ones.
 * Has no effects, so it is also used to check a request.
 * @throws ParleyError `invalid_input` for an unknown name, invalid parameters, an invalid filter, or a duplicate name.
 */
export function createTools(selection: ToolSelection): Map<string, Tool> {
  const isLetThrough = filterOf(selection.filter_tools_regex)
  const explicit = selection.tools
    .flatMap((spec, index) => placed(make(spec, ['tools', index], selection.sub_agents), ['tools', index, 'name']))
    .filter(({ tool }) => isLetThrough(tool.name))
  const skills = invokeSkillTool(selection.agent_context ?? null)
  const builtIn = selection.include_default_tools.map((name, index): PlacedTool => {
    const at = ['include_default_tools', index]
    if (canonicalToolName(name) === skills.name) return { tool: skills, at }
    const known = BUILT_IN.get(canonicalToolName(name))
    if (known === undefined) throw unknown(name, BUILT_IN, at)
    return { tool: known(), at }
  })
  if (hasInvocable(selection.agent_context) && !builtIn.some(({ tool }) => tool === skills))
    builtIn.push({ tool: skills, at: ['agent_context'] })
  const ofClient = (selection.client_tools ?? []).flatMap((spec, index) => {
    const at = ['client_tools', index, 'name']
    // Existing clients also list them among the agent's tools.
    return selection.tools.some((tool) => isSame(tool, spec, at))
      ? []
      : placed(clientTool(spec, ['client_tools', index, 'parameters']), at)
  })
  const tools = new Map<string, Tool>()
  for (const { tool, at } of [...explicit, ...builtIn, ...ofClient]) {
    if (tools.has(tool.name)) throw invalidInput(`Tool '${tool.name}' is given twice; name each tool once.`, at)
    tools.set(tool.name, tool)
  }
  return tools
}

/** A tool and the place of its name in the selection. */
type PlacedTool = { tool: Tool; at: Place }

const placed = (made: Tool | Tool[], at: Place): PlacedTool[] => [made].flat().map((tool) => ({ tool, at }))

/** @throws ParleyError `invalid_input` when a client tool is declared twice and differently. */
function isSame({ name, params }: ToolSpec, spec: ClientToolSpec, at: Place): boolean {
  if (name !== spec.name || !('spec' in params)) return false
  const other = ClientToolSpec.safeParse(params['spec'])
  if (!other.success || isDeepStrictEqual(other.data, spec)) return true
  throw invalidInput(`Client tool '${name}' is declared twice, and not alike; declare it once.`, at)
}

function make({ name, params }: ToolSpec, at: Place, subAgents?: readonly SubAgentType[]): Tool | Tool[] {
  const declared = ClientToolSpec.safeParse(params['spec'])
  if (declared.success) return clientTool(declared.data, [...at, 'params'])
  const known = EXPLICIT.get(canonicalToolName(name))
  if (known === undefined) throw unknown(name, EXPLICIT, [...at, 'name'])
  try {
    return known(params, subAgents)
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error
    const reasons = error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; ')
    throw invalidInput(`Parameters of tool '${name}': ${reasons}`, [...at, 'params'], { cause: error })
  }
}

function unknown(name: string, known: ReadonlyMap<string, unknown>, at: Place) {
  return invalidInput(`ToolDefinition '${name}' is not registered. Known tools: ${[...known.keys()].join(', ')}`, at)
}

/** A name that the filter cannot match in time is refused, so that no tool is missing silently. */
const filterOf = (regex: string | null) =>
  nameFilter(regex, {
    onTimeUp(name) {
      throw invalidInput(
        `filter_tools_regex takes too long on the tool '${name}'; write it without repetitions within repetitions.`,
        ['filter_tools_regex'],
      )
    },
  })
