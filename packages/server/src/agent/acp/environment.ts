/**
 * What an external agent gets as variables beside the allow-list of the runner (HOME, PATH and their kin). Pure.
 * Source: agent-core.md 11.12, F11.
 */
import type { Provider } from './providers.ts'

export type EnvironmentParts = {
  /** Secrets of the conversation and its owner by name. */
  secrets: Readonly<Record<string, string>>
  /** Names of secrets that are given as files. */
  asFiles: readonly string[]
  provider: Provider | null
  /** From the isolated data directory and the files. */
  pointers: Readonly<Record<string, string>>
}

export function agentEnvironment({ secrets, asFiles, provider, pointers }: EnvironmentParts): Record<string, string> {
  const kept = Object.entries(secrets).filter(([name, value]) => value !== '' && !asFiles.includes(name))
  const env: Record<string, string> = { ...Object.fromEntries(kept), ...pointers }
  // It would take itself for a session inside a session.
  delete env['CLAUDECODE']
  if (env['CLAUDE_CODE_OAUTH_TOKEN'] !== undefined) {
    delete env['ANTHROPIC_API_KEY']
    delete env['ANTHROPIC_BASE_URL']
  }
  if (provider?.key === 'codex') {
    const config = codexConfig(env)
    if (config !== null) env['CODEX_CONFIG'] = config
  }
  if (provider?.key === 'gemini-cli' && env['GEMINI_BASE_URL'] !== undefined)
    env['GOOGLE_GEMINI_BASE_URL'] ??= env['GEMINI_BASE_URL']
  return env
}

/** The configuration of codex with the base address in it; null when it has one of its own or cannot be read. */
function codexConfig(env: Readonly<Record<string, string>>): string | null {
  const url = env['OPENAI_BASE_URL']
  if (url === undefined) return null
  let config: unknown
  try {
    config = JSON.parse(env['CODEX_CONFIG'] ?? '{}')
  } catch {
    // Not ours to repair.
    return null
  }
  if (typeof config !== 'object' || config === null || Array.isArray(config)) return null
  if ('openai_base_url' in config || 'model_provider' in config) return null
  return JSON.stringify({ ...config, openai_base_url: url })
}
