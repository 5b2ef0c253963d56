/** The types of sub-agents of a conversation. Pure. Source: agent-core.md 12.1; F68. */
import { type AgentDefinition, invalidInput } from '@parley/protocol'
import { builtInTypes, canonicalToolName, currentTypeName, toolNames } from '../../tools/index.ts'

/** Types of the request, then those in files, then the built-in ones; the first of each name counts. */
export function registered(
  requested: readonly AgentDefinition[],
  found: readonly AgentDefinition[],
): ReadonlyMap<string, AgentDefinition> {
  const types = new Map<string, AgentDefinition>()
  for (const definition of [...requested, ...found, ...builtInTypes().filter(hasItsTools)])
    if (!types.has(definition.name)) types.set(definition.name, definition)
  return types
}

/** Returns a type by its name, or by its former name. @throws ParleyError `invalid_input` naming the types. */
export function typeNamed(types: ReadonlyMap<string, AgentDefinition>, name: string): AgentDefinition {
  const known = types.get(name) ?? types.get(currentTypeName(name))
  if (known !== undefined) return known
  throw invalidInput(`There is no type '${name}' of sub-agents. Types: ${[...types.keys()].join(', ')}.`)
}

function hasItsTools({ tools }: AgentDefinition): boolean {
  const known = new Set(toolNames())
  return tools.every((tool) => known.has(canonicalToolName(tool)))
}
