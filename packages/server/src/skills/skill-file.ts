/** Skills from files. Source: agent-core.md 6.1, 6.2. */
import {
  invalidInput,
  isRecord,
  MCPServers,
  type ParleyError,
  Skill,
  type SkillResources,
  type SkillTrigger,
} from '@parley/protocol'
import { readFrontmatter } from './frontmatter.ts'
import { truncateMiddle } from './truncate.ts'

const MAX_DESCRIPTION_CHARS = 1024
/** Letters, digits and single hyphens. */
const STRICT_NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const MAX_NAME_CHARS = 64
const ASK_FOR_VARIABLES =
  'Where a variable of this text has no value that you know from the user, ask the user for it before you begin.'

export type SkillFile = {
  /** Path, for people. */
  source: string
  text: string
  /** Used when the file itself has no name. */
  name: string
}

/**
 * Reads a skill of the older form: one markdown file.
 * @throws ParleyError `invalid_input` for front matter that cannot be read.
 */
export async function readSkillFile({ source, text, name }: SkillFile, notes: string[]): Promise<Skill> {
  const { data, body } = await readFrontmatter(text)
  const own = textOf(data['name']) ?? name
  const mcp_tools = data['mcp_tools'] === undefined ? null : mcpServers(data['mcp_tools'], source, notes)
  return make(data, { name: own, body, source, notes, more: { mcp_tools } })
}

/**
 * Reads a skill that is a folder with a SKILL.md.
 * @param mcp text of the `.mcp.json` beside it; null: there is none
 * @throws ParleyError `invalid_input` for front matter that cannot be read, and for a name other than the folder's.
 */
export async function readSkillFolder(
  { source, text, name }: SkillFile,
  { resources, mcp }: { resources: SkillResources; mcp: string | null },
  notes: string[],
): Promise<Skill> {
  const { data, body } = await readFrontmatter(text)
  const own = textOf(data['name']) ?? name
  if (own.length > MAX_NAME_CHARS || !STRICT_NAME.test(own))
    throw invalid(`'${own}' is no name of a skill: 1 to 64 small letters, digits and single hyphens`)
  if (own !== name) throw invalid(`its name '${own}' is not that of its folder '${name}'`)
  const mcp_tools = mcp === null ? null : mcpServers(parsed(mcp), source, notes, { SKILL_ROOT: resources.skill_root })
  return make(data, {
    name: own,
    body,
    source,
    notes,
    more: { is_agentskills_format: true, resources, mcp_tools },
  })
}

/** Bytes of an instruction file that the model gets, because they are sent with every request. */
export const MAX_INSTRUCTION_BYTES = 32 * 1024

/** An instruction file of a project, whose end is left out with a notice when it is too long. */
export function instructions(
  { source, text, name, hasImports = false }: SkillFile & { hasImports?: boolean },
  trigger: SkillTrigger | null = null,
): Skill {
  return Skill.parse({ name, content: cut(text.trim(), source, hasImports), source, trigger })
}

function cut(text: string, source: string, hasImports: boolean): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= MAX_INSTRUCTION_BYTES) return text
  // A character that the cut divides is left out.
  const kept = new TextDecoder().decode(bytes.subarray(0, MAX_INSTRUCTION_BYTES), { stream: true })
  if (hasImports)
    return `${kept}\n[Only the first ${MAX_INSTRUCTION_BYTES} bytes of ${source} and of its imports are shown. Read the files where the rest matters.]`
  return `${kept}\n[Only the first ${MAX_INSTRUCTION_BYTES} of ${bytes.length} bytes of ${source} are shown. Read the file where the rest matters.]`
}

type Parts = { name: string; body: string; source: string; notes: string[]; more: Partial<Skill> }

function make(data: Readonly<Record<string, unknown>>, { name, body, source, notes, more }: Parts): Skill {
  const paths = words(data['paths'], /,/)
  const triggers = words(data['triggers'], /,/)
  const inputs = inputsOf(data['inputs'])
  if (paths.length > 0 && (triggers.length > 0 || inputs.length > 0))
    notes.push(`${source}: paths go before triggers and inputs`)
  const trigger = triggerOf({ name, paths, triggers, inputs })
  const description = textOf(data['description'])
  const isTask = trigger?.type === 'task' || inputs.length > 0
  return Skill.parse({
    ...more,
    name,
    source,
    trigger,
    content: isTask ? withQuestion(body.trim(), inputs.length > 0) : body.trim(),
    inputs,
    version: textOf(data['version']) ?? '1.0.0',
    description: description === null ? null : shortened(description, source),
    license: textOf(data['license']),
    compatibility: textOf(data['compatibility']),
    metadata: metadataOf(data['metadata']),
    allowed_tools: allowed(data['allowed-tools'] ?? data['allowed_tools']),
    disable_model_invocation:
      trigger?.type === 'path' || isTrue(data['disable-model-invocation'] ?? data['disable_model_invocation']),
  })
}

function triggerOf(of: {
  name: string
  paths: string[]
  triggers: string[]
  inputs: readonly object[]
}): SkillTrigger | null {
  const { name, paths, triggers, inputs } = of
  if (paths.length > 0) return { type: 'path', paths }
  if (inputs.length > 0) return { type: 'task', triggers: [...new Set([...triggers, `/${name}`])] }
  return triggers.length > 0 ? { type: 'keyword', keywords: triggers } : null
}

/** Adds a request for missing inputs, once. */
function withQuestion(content: string, hasInputs: boolean): string {
  if (content.includes(ASK_FOR_VARIABLES) || !(hasInputs || /\$\{\w+\}/.test(content))) return content
  return `${content}\n\n${ASK_FOR_VARIABLES}`
}

/**
 * Servers of an `.mcp.json` or of front matter; one that cannot be read is left out with a note.
 * @param places values of variables that name folders; other variables are kept
 */
export function mcpServers(
  value: unknown,
  source: string,
  notes: string[],
  places: Readonly<Record<string, string>> = {},
): MCPServers {
  const outer = isRecord(value) ? value : {}
  const servers = isRecord(outer['mcpServers']) ? outer['mcpServers'] : outer
  const read: MCPServers = {}
  for (const [name, server] of Object.entries(servers)) {
    if (!isRecord(server)) continue
    const { type, transport, ...members } = server
    const placed = withPlaces({ ...members, transport: transport ?? type ?? null }, places)
    const parsedServer = MCPServers.safeParse({ [name]: placed })
    if (parsedServer.success) Object.assign(read, parsedServer.data)
    else notes.push(`${source}: the MCP server ${name} cannot be read: ${parsedServer.error.issues[0]?.message ?? ''}`)
  }
  return read
}

/** The value with `${NAME}` replaced in each of its texts. */
function withPlaces(value: unknown, places: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string') return value.replaceAll(/\$\{(\w+)\}/g, (whole, name: string) => places[name] ?? whole)
  if (Array.isArray(value)) return value.map((each) => withPlaces(each, places))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withPlaces(each, places)]))
}

/** The parsed JSON; null for text that is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const shortened = (description: string, source: string): string =>
  truncateMiddle(description, MAX_DESCRIPTION_CHARS, `[… shortened; the whole stands in ${source} …]`)

const isTrue = (value: unknown): boolean => value === true || value === 'true'
const invalid = (why: string): ParleyError => invalidInput(why)

function textOf(value: unknown): string | null {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null
}

/** A list, or one text split at `separator`. */
function words(value: unknown, separator: RegExp): string[] {
  const list: unknown[] = Array.isArray(value) ? value : typeof value === 'string' ? value.split(separator) : []
  return list.map(textOf).filter((word) => word !== null)
}

function allowed(value: unknown): string[] | null {
  const tools = words(value, /[\s,]+/)
  return tools.length === 0 ? null : tools
}

function inputsOf(value: unknown): Skill['inputs'] {
  if (!Array.isArray(value)) return []
  return value.flatMap((each: unknown) => {
    const name = isRecord(each) ? textOf(each['name']) : null
    return name === null ? [] : [{ name, description: textOf((each as Record<string, unknown>)['description']) ?? '' }]
  })
}

function metadataOf(value: unknown): Record<string, string> | null {
  if (!isRecord(value)) return null
  const entries = Object.entries(value).map(([name, each]) => [name, textOf(each) ?? JSON.stringify(each) ?? ''])
  return Object.fromEntries(entries) as Record<string, string>
}
