/**
 * Hooks of a project. Anyone who can write to a project could run commands through its hooks, so the operator names the
 * projects whose file is used (F12). Source: interface.md, HookConfig; agent-core.md 5.1.
 */
import { join } from 'node:path'
import { HookConfig, type HookDefinition, type Place } from '@parley/protocol'
import { isTrusted, type Workspace } from '../workspace/index.ts'

/** Relative to the project's directory. */
const HOOKS_FILE = '.openhands/hooks.json'
const MAX_BYTES = 1024 * 1024

export type LoadedHooks = {
  /** Null: there are no hooks to use. */
  config: HookConfig | null
  /** True when the file is used, as a sentence; null when there is none. */
  detail: string | null
}

/** `names`: absolute path or repository, such as `github.com/acme/app`; the project is trusted when any of them is. */
export type HookProject = { directory: string; names: readonly string[] }

/**
 * Reads the file of a trusted project. Errors in its content are reported in `detail`, never thrown.
 * @param check throws for hooks that cannot be run
 */
export async function loadProjectHooks(
  workspace: Pick<Workspace, 'stat' | 'readFile'>,
  { directory, names }: HookProject,
  trusted: readonly string[],
  signal: AbortSignal,
  check: (config: HookConfig) => void = () => undefined,
): Promise<LoadedHooks> {
  const file = join(directory, HOOKS_FILE)
  const stat = await workspace.stat(file, signal)
  if (stat?.kind !== 'file') return { config: null, detail: null }
  if (!names.some((name) => isTrusted(name, trusted))) {
    return {
      config: null,
      detail: `${HOOKS_FILE} left alone: ${names.join(' alias ')} is not among trusted_hooks of this server`,
    }
  }
  if (stat.size > MAX_BYTES)
    return { config: null, detail: `${HOOKS_FILE} left alone: it is larger than ${MAX_BYTES} bytes` }
  try {
    const config = HookConfig.parse(JSON.parse(Buffer.from(await workspace.readFile(file, signal)).toString('utf8')))
    check(config)
    return isEmpty(config)
      ? { config: null, detail: `${HOOKS_FILE} holds no hooks` }
      : { config, detail: `${HOOKS_FILE} is in force` }
  } catch (error) {
    signal.throwIfAborted()
    return { config: null, detail: `${HOOKS_FILE} left alone: ${firstLine((error as Error).message)}` }
  }
}

/** The hooks of both configurations, the first's before the second's, without duplicates; null when there are none. */
export function mergeHooks(first: HookConfig | null, second: HookConfig | null): HookConfig | null {
  if (first === null || second === null) return first ?? second
  return Object.fromEntries(
    EVENTS.map((event) => {
      const known = new Set(first[event].map((matcher) => JSON.stringify(matcher)))
      return [event, [...first[event], ...second[event].filter((matcher) => !known.has(JSON.stringify(matcher)))]]
    }),
  ) as unknown as HookConfig
}

/** A hook with its event and its place in the configuration. */
export type PlacedHook = { event: keyof HookConfig; hook: HookDefinition; at: Place }

/** Every hook of a configuration, in order. */
export function hooksIn(config: HookConfig | null | undefined): PlacedHook[] {
  return EVENTS.flatMap((event) =>
    (config?.[event] ?? []).flatMap(({ hooks }, matcher) =>
      hooks.map((hook, index) => ({ event, hook, at: [event, matcher, 'hooks', index] })),
    ),
  )
}

const EVENTS = [
  'pre_tool_use',
  'post_tool_use',
  'user_prompt_submit',
  'session_start',
  'session_end',
  'stop',
] as const satisfies readonly (keyof HookConfig)[]

const isEmpty = (config: HookConfig): boolean => EVENTS.every((event) => config[event].length === 0)
const firstLine = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 300)
