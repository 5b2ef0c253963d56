/** Names to tools: what an agent's configuration asks for, built and checked. Source: agent-core.md 8.1. */
import { ClientToolSpec, ParleyError, type Agent, type Tool as ToolSpec } from '@parley/protocol'
import { z } from 'zod'
import { clientTool } from './client-tool.ts'
import { fileEditorTool } from './file-editor/index.ts'
import { finishTool } from './finish-tool.ts'
import { taskTrackerTool } from './task-tracker.ts'
import { terminalTool } from './terminal/index.ts'
import { thinkTool } from './think-tool.ts'
import type { Tool } from './tool.ts'

type Params = Record<string, unknown>
/** @throws z.ZodError for parameters that the tool does not take. */
type Make = (params: Params) => Tool

const none = z.strictObject({})
const FileEditorParams = z.strictObject({ confine: z.boolean().optional() })

const takesNone =
  (make: () => Tool): Make =>
  (params) => {
    none.parse(params)
    return make()
  }

/** Tools that `agent.tools` may name. */
const EXPLICIT: ReadonlyMap<string, Make> = new Map([
  ['terminal', (params) => terminalTool(params)],
  ['file_editor', (params) => fileEditorTool(FileEditorParams.parse(params))],
  ['task_tracker', takesNone(taskTrackerTool)],
])

/** Tools that `agent.include_default_tools` may name. */
const BUILT_IN: ReadonlyMap<string, () => Tool> = new Map([
  ['finish', finishTool],
  ['think', thinkTool],
])

/** Names that a client may give an agent. */
export const toolNames = (): string[] => [...EXPLICIT.keys(), ...BUILT_IN.keys()].toSorted()

/** The registered spelling of a tool's name: `TerminalTool` and `terminal` are one. */
export function canonicalToolName(name: string): string {
  const bare = name.replace(/Tool$/, '')
  return bare.replaceAll(/(?<=[a-z0-9])[A-Z]/g, '_$&').toLowerCase()
}

export type ToolSelection = Pick<Agent, 'tools' | 'include_default_tools' | 'filter_tools_regex'> & {
  /** Declared by the client of the conversation. */
  client_tools?: readonly ClientToolSpec[]
}

/**
 * The tools of an agent by the name the model uses: those it names and the filter lets through, then the built-in ones.
 * Touches nothing but memory, so it serves to check a request too.
 * @throws ParleyError `invalid_input` for an unknown name, parameters that do not fit, a bad filter, or a name used twice.
 */
export function createTools(selection: ToolSelection): Map<string, Tool> {
  const isLetThrough = filter(selection.filter_tools_regex)
  const explicit = selection.tools.map(make).filter(({ name }) => isLetThrough(name))
  const builtIn = selection.include_default_tools.map((name) => {
    const known = BUILT_IN.get(canonicalToolName(name))
    if (known === undefined) throw unknown(name, BUILT_IN)
    return known()
  })
  const ofClient = (selection.client_tools ?? [])
    // Existing clients also name them among the agent's tools.
    .filter(({ name }) => !selection.tools.some((tool) => tool.name === name && 'spec' in tool.params))
    .map(clientTool)
  const tools = new Map<string, Tool>()
  for (const tool of [...explicit, ...builtIn, ...ofClient]) {
    if (tools.has(tool.name)) {
      throw new ParleyError('invalid_input', `Tool '${tool.name}' is given twice; name each tool once.`)
    }
    tools.set(tool.name, tool)
  }
  return tools
}

function make({ name, params }: ToolSpec): Tool {
  const declared = ClientToolSpec.safeParse(params['spec'])
  if (declared.success) return clientTool(declared.data)
  const known = EXPLICIT.get(canonicalToolName(name))
  if (known === undefined) throw unknown(name, EXPLICIT)
  try {
    return known(params)
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error
    const reasons = error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; ')
    throw new ParleyError('invalid_input', `Parameters of tool '${name}': ${reasons}`, { cause: error })
  }
}

function unknown(name: string, known: ReadonlyMap<string, unknown>): ParleyError {
  return new ParleyError(
    'invalid_input',
    `ToolDefinition '${name}' is not registered. Known tools: ${[...known.keys()].join(', ')}`,
    {
      details: { tool: name },
    },
  )
}

/** The filter matches from the start of a name, as far as it goes. Names are short and ours, so any expression ends in time. */
function filter(regex: string | null): (name: string) => boolean {
  if (regex === null) return () => true
  try {
    const prefix = new RegExp(`^(?:${regex})`)
    return (name) => prefix.test(name)
  } catch (cause) {
    throw new ParleyError('invalid_input', `filter_tools_regex is not a regular expression: ${regex}`, { cause })
  }
}
