/** Tools for helpers that inspect a project and change nothing in it. Source: agent-core.md 5.3; F76. */
import { type FileEditorAction, invalidInput } from '@parley/protocol'
import { canonicalToolName, createTools } from './registry.ts'
import type { Tool } from './tool.ts'

const EDITOR = 'file_editor'
/** Tools that can be confined to the working directory. */
const CONFINED: ReadonlySet<string> = new Set([EDITOR, 'grep', 'glob'])

/**
 * Returns the tools of these names, and `finish`. The file editor only views, and only below the working directory.
 * @throws ParleyError `invalid_input` for a name that is unknown or given twice, and for a tool that is not read-only.
 */
export function readOnlyTools(names: readonly string[]): Map<string, Tool> {
  const wanted = names.filter((name) => !BUILT_IN.has(canonicalToolName(name)))
  const tools = createTools({
    tools: wanted.map((name) => ({ name, params: CONFINED.has(canonicalToolName(name)) ? { confine: true } : {} })),
    include_default_tools: [
      'FinishTool',
      ...(names.some((name) => canonicalToolName(name) === 'think') ? ['ThinkTool'] : []),
    ],
    filter_tools_regex: null,
  })
  return new Map([...tools].map(([name, tool]) => [name, reading(tool)]))
}

const BUILT_IN: ReadonlySet<string> = new Set(['finish', 'think'])

function reading(tool: Tool): Tool {
  if (tool.isReadOnly) return tool
  if (tool.name === EDITOR) return viewing(tool)
  throw invalidInput(
    `Tool '${tool.name}' can change something. Name only tools that read, such as ${EDITOR}, which then views alone.`,
  )
}

const VIEW_ONLY = 'Here only the command view is allowed, and only below the working directory.'

function viewing(tool: Tool): Tool {
  return {
    ...tool,
    isReadOnly: true,
    definition: { ...tool.definition, description: `${tool.definition.description}\n\n${VIEW_ONLY}` },
    parse(args) {
      const action = tool.parse(args)
      if ((action as FileEditorAction).command === 'view') return action
      throw invalidInput('only the command view is allowed here')
    },
  }
}
