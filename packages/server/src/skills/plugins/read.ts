/** Contents of a plugin's folder. Source: agent-core.md 6.7. */
import { basename, join } from 'node:path'
import {
  HookConfig,
  type HookDefinition,
  invalidInput,
  isRecord,
  type MCPServers,
  ParleyError,
  Skill,
} from '@parley/protocol'
import { shellQuote } from '../../lib/index.ts'
import { skillsIn } from '../discover.ts'
import { Folder, type Files } from '../folder.ts'
import { readFrontmatter } from '../frontmatter.ts'
import { mcpServers, parsed } from '../skill-file.ts'

export type Plugin = {
  name: string
  version: string
  description: string
  /** Absolute path of its folder. */
  root: string
  skills: Skill[]
  hooks: HookConfig | null
  mcp: MCPServers
  /** Definition files of its sub-agents. */
  agents: { path: string; text: string }[]
  notes: string[]
}

const MANIFESTS = ['.claude-plugin/plugin.json', '.plugin/plugin.json', 'plugin.json']
/** Variables that name the folder of the plugin, in its hooks and its MCP servers. */
const ROOT_VARIABLES = ['CLAUDE_PLUGIN_ROOT', 'PLUGIN_ROOT'] as const

/**
 * @param of `below`: the plugin's folder within `path`; `called`: its name when the manifest has none
 * @throws ParleyError `not_found` when there is no such folder, `invalid_input` when it is not a plugin.
 */
export async function readPlugin(
  files: Files,
  { path, below, called }: { path: string; below: string; called: string },
  signal: AbortSignal,
): Promise<Plugin> {
  const outer = await Folder.open(files, path, signal)
  const isInside = outer !== null && (await outer.realOf(below)) !== null
  const folder = isInside ? await Folder.open(files, join(path, below), signal) : null
  if (folder === null) throw new ParleyError('not_found', `there is no folder ${join(path, below)} that may be read`)
  const manifest = await manifestOf(folder)
  const name = nameOf(manifest, below === '' ? called : basename(below))
  const plugin: Plugin = {
    name,
    version: textOf(manifest?.['version']),
    description: textOf(manifest?.['description']),
    root: folder.root,
    skills: [],
    hooks: await hooksOf(folder, manifest),
    mcp: await mcpOf(folder, manifest),
    agents: [],
    notes: folder.notes,
  }
  for (const at of placesOf(manifest, 'skills')) plugin.skills.push(...(await skillsIn(folder, at)))
  for (const at of placesOf(manifest, 'commands')) plugin.skills.push(...(await commandsIn(folder, at, name)))
  for (const at of placesOf(manifest, 'agents')) {
    for (const { name: file, kind } of await folder.list(at)) {
      const text = kind === 'file' && isDefinition(file) ? await folder.read(join(at, file)) : null
      if (text !== null) plugin.agents.push({ path: folder.at(join(at, file)), text })
    }
  }
  const { skills, hooks, mcp, agents } = plugin
  const isEmpty = skills.length === 0 && hooks === null && Object.keys(mcp).length === 0 && agents.length === 0
  if (isEmpty && manifest === null) throw invalidInput(`${folder.root} is no plugin`)
  return plugin
}

type Manifest = Record<string, unknown>

async function manifestOf(folder: Folder): Promise<Manifest | null> {
  for (const path of MANIFESTS) {
    const text = await folder.read(path)
    if (text === null) continue
    const value = parsed(text)
    if (isRecord(value)) return value
    throw invalidInput(`${folder.at(path)} is no JSON object`)
  }
  return null
}

function nameOf(manifest: Manifest | null, called: string): string {
  const name = textOf(manifest?.['name']) || called
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(name)) return name
  throw invalidInput(`'${name.slice(0, 80)}' is no name of a plugin`)
}

/** Folders that the manifest names, and the usual one. */
function placesOf(manifest: Manifest | null, kind: 'skills' | 'commands' | 'agents'): string[] {
  const value = manifest?.[kind]
  const named = (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'string')
  return [...new Set([kind, ...named.map((path) => join(path))])]
}

async function hooksOf(folder: Folder, manifest: Manifest | null): Promise<HookConfig | null> {
  const inline = manifest?.['hooks']
  const file = typeof inline === 'string' ? inline : 'hooks/hooks.json'
  const value = typeof inline === 'object' && inline !== null ? inline : await jsonAt(folder, file)
  if (value === null) return null
  const { description: _, ...events } = value as Record<string, unknown>
  const read = HookConfig.safeParse(events)
  if (!read.success) throw invalidInput(`the hooks of ${folder.root} cannot be read: ${read.error.issues[0]?.message}`)
  return placed(read.data, folder.root)
}

/** Each command gets the folder of the plugin in variables, which its shell expands. */
function placed(config: HookConfig, root: string): HookConfig {
  const set = ROOT_VARIABLES.map((name) => `export ${name}=${shellQuote(root)}`).join('; ')
  const withRoot = (hook: HookDefinition): HookDefinition =>
    hook.type === 'command' && ROOT_VARIABLES.some((name) => hook.command.includes(name))
      ? { ...hook, command: `${set}; ${hook.command}` }
      : hook
  return Object.fromEntries(
    Object.entries(config).map(([event, matchers]) => [
      event,
      matchers.map((matcher) => ({ ...matcher, hooks: matcher.hooks.map(withRoot) })),
    ]),
  ) as unknown as HookConfig
}

async function mcpOf(folder: Folder, manifest: Manifest | null): Promise<MCPServers> {
  const inline = manifest?.['mcpServers']
  const file = typeof inline === 'string' ? inline : '.mcp.json'
  const value = typeof inline === 'object' && inline !== null ? inline : await jsonAt(folder, file)
  const places = Object.fromEntries(ROOT_VARIABLES.map((name) => [name, folder.root]))
  return value === null ? {} : mcpServers(value, folder.at(file), folder.notes, places)
}

async function jsonAt(folder: Folder, path: string): Promise<object | null> {
  const text = await folder.read(join(path))
  if (text === null) return null
  const value = parsed(text)
  if (typeof value === 'object' && value !== null) return value
  throw invalidInput(`${folder.at(path)} is no JSON object`)
}

/** Commands that a person types, `/<plugin>:<command>`, become skills with that keyword. */
async function commandsIn(folder: Folder, path: string, plugin: string): Promise<Skill[]> {
  const found: Skill[] = []
  for (const { name: file, kind } of await folder.list(path)) {
    if (kind !== 'file' || !isDefinition(file)) continue
    const text = await folder.read(join(path, file))
    if (text === null) continue
    const name = `${plugin}:${file.replace(/\.md$/i, '')}`
    const { data, body } = await readFrontmatter(text)
    found.push(
      Skill.parse({
        name,
        content: body.trim(),
        description: textOf(data['description']) || null,
        source: folder.at(join(path, file)),
        trigger: { type: 'keyword', keywords: [`/${name}`] },
        disable_model_invocation: true,
      }),
    )
  }
  return found
}

const isDefinition = (file: string): boolean => /\.md$/i.test(file) && file.toLowerCase() !== 'readme.md'
const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')
