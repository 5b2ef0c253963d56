/** Which types of sub-agents a conversation has. Pure. Source: agent-core.md 12.1 (registration precedence); F68. */
import { ParleyError, type AgentDefinition } from '@parley/protocol'
import { BUILT_IN_TYPES, canonicalToolName, currentTypeName, toolNames } from '../../tools/index.ts'

/** Those of the request, then those found in files, then the built-in ones; a name that is taken is not taken again. */
export function registered(
  requested: readonly AgentDefinition[],
  found: readonly AgentDefinition[],
): ReadonlyMap<string, AgentDefinition> {
  const types = new Map<string, AgentDefinition>()
  for (const definition of [...requested, ...found, ...BUILT_IN_TYPES.filter(hasItsTools)])
    if (!types.has(definition.name)) types.set(definition.name, definition)
  return types
}

/** A type by its name, or by what it was called once. @throws ParleyError `invalid_input` naming the types. */
export function typeNamed(types: ReadonlyMap<string, AgentDefinition>, name: string): AgentDefinition {
  const known = types.get(name) ?? types.get(currentTypeName(name))
  if (known !== undefined) return known
  throw new ParleyError(
    'invalid_input',
    `There is no type '${name}' of sub-agents. Types: ${[...types.keys()].join(', ')}.`,
  )
}

function hasItsTools({ tools }: AgentDefinition): boolean {
  const known = new Set(toolNames())
  return tools.every((tool) => known.has(canonicalToolName(tool)))
}
