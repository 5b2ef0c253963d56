/**
 * Environment variables of an external agent, in addition to the runner's allow-list (HOME, PATH and similar). Pure.
 * Source: agent-core.md 11.12, F11.
 */
import type { Provider } from '../providers.ts'

export type EnvironmentInput = {
  /** Secrets of the conversation and its owner by name. */
  secrets: Readonly<Record<string, string>>
  /** Names of secrets that are given as files. */
  asFiles: readonly string[]
  provider: Provider | null
  /** Variables that point at the isolated data directory and the credential files. */
  pointers: Readonly<Record<string, string>>
}

export function agentEnvironment({ secrets, asFiles, provider, pointers }: EnvironmentInput): Record<string, string> {
  const kept = Object.entries(secrets).filter(([name, value]) => value !== '' && !asFiles.includes(name))
  const env: Record<string, string> = { ...Object.fromEntries(kept), ...pointers }
  // With this variable, the agent assumes that it runs inside another session.
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

/** The codex configuration with the base URL added; null when it names a URL or provider already, or cannot be read. */
function codexConfig(env: Readonly<Record<string, string>>): string | null {
  const url = env['OPENAI_BASE_URL']
  if (url === undefined) return null
  let config: unknown
  try {
    config = JSON.parse(env['CODEX_CONFIG'] ?? '{}')
  } catch {
    // An unreadable configuration is passed on unchanged.
    return null
  }
  if (typeof config !== 'object' || config === null || Array.isArray(config)) return null
  if ('openai_base_url' in config || 'model_provider' in config) return null
  return JSON.stringify({ ...config, openai_base_url: url })
}
