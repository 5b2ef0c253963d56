import { builtInTypes } from './built-in.ts'
import type { SubAgentType } from './sub-agents.ts'

/** Returns the types of sub-agents as text for the description of a tool. */
export function describeTypes(types: readonly SubAgentType[] = builtInTypes()): string {
  return types
    .map(({ name, description, when_to_use_examples }) => {
      const examples = when_to_use_examples.map((example) => `\n  Example: ${example.trim()}`).join('')
      return `- ${name}: ${description.trim() || 'no description'}${examples}`
    })
    .join('\n')
}
