/** Sub-agents that markdown files define: the head contains the settings, the body the prompt. Source: agent-core.md 12.1. */
import { basename } from 'node:path'
import { AgentDefinition, invalidInput } from '@parley/protocol'
import { readFrontmatter, type Folder } from '../../skills/index.ts'
import { policyBelow } from './guard.ts'

/** Folders below a project, or below a home folder; earlier ones take precedence. */
const FOLDERS = ['.agents/agents', '.openhands/agents'] as const

export type DefinitionLevel = 'project' | 'user' | 'plugin'

/** Returns the definitions in a folder, the first of each name. A bad file is left out and noted. */
export async function definitionsIn(folder: Folder, level: DefinitionLevel): Promise<AgentDefinition[]> {
  const found = new Map<string, AgentDefinition>()
  for (const path of FOLDERS)
    for (const { name, kind } of await folder.list(path)) {
      if (kind !== 'file' || !/\.md$/i.test(name) || /^readme\.md$/i.test(name)) continue
      const file = `${path}/${name}`
      const text = await folder.read(file)
      if (text === null) continue
      try {
        const definition = await readDefinition(text, file, level)
        if (!found.has(definition.name)) found.set(definition.name, definition)
      } catch (error) {
        folder.note(file, error instanceof Error ? error.message : String(error))
      }
    }
  return [...found.values()]
}

const isKnown = (key: string): boolean => key === 'mcp_servers' || Object.hasOwn(AgentDefinition.shape, key)

/** @throws ParleyError `invalid_input` for a head that defines no sub-agent. */
export async function readDefinition(text: string, file: string, level: DefinitionLevel): Promise<AgentDefinition> {
  const { data, body } = await readFrontmatter(text)
  const own = Object.fromEntries(Object.entries(data).filter(([key]) => isKnown(key)))
  const rest = Object.fromEntries(Object.entries(data).filter(([key]) => !isKnown(key)))
  const { description, examples } = withoutExamples(typeof data['description'] === 'string' ? data['description'] : '')
  const parsed = AgentDefinition.safeParse({
    ...own,
    name: typeof data['name'] === 'string' && data['name'] !== '' ? data['name'] : basename(file).replace(/\.md$/i, ''),
    description,
    when_to_use_examples: examples,
    tools: names(data['tools']),
    skills: names(data['skills']),
    system_prompt: body.trim(),
    source: file,
    level,
    max_budget_per_run: typeof data['max_budget_per_run'] === 'boolean' ? null : (data['max_budget_per_run'] ?? null),
    mcp_config: data['mcp_config'] ?? data['mcp_servers'] ?? null,
    condenser: condenserOf(data['condenser']),
    // A file never decides where profiles are stored.
    profile_store_dir: null,
    metadata: rest,
  })
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw invalidInput(`${issue?.path.join('.') ?? 'head'}: ${issue?.message ?? 'not understood'}`)
  }
  policyBelow({ kind: 'NeverConfirm' }, parsed.data.permission_mode)
  return parsed.data
}

function withoutExamples(text: string): { description: string; examples: string[] } {
  const examples = [...text.matchAll(/<example>([\s\S]*?)<\/example>/g)].map(([, inner = '']) => inner.trim())
  return { description: text.replaceAll(/<example>[\s\S]*?<\/example>/g, '').trim(), examples }
}

/** Reads a list, or names between commas. */
function names(value: unknown): unknown {
  if (value === undefined || value === null) return []
  if (typeof value !== 'string') return value
  return value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

const NONE: ReadonlySet<unknown> = new Set([false, 'false', 'none', 'off', 'no', 'disabled'])
const DEFAULT: ReadonlySet<unknown> = new Set([undefined, null, true, 'true', 'default', 'inherit'])

function condenserOf(value: unknown): unknown {
  const known = typeof value === 'string' ? value.toLowerCase() : value
  if (NONE.has(known)) return { kind: 'NoOpCondenser' }
  return DEFAULT.has(known) ? null : value
}
