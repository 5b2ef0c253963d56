import { expect, test } from 'vitest'
import { PROVIDERS } from '../providers.ts'
import { agentEnvironment } from './environment.ts'

const provider = (key: string) => PROVIDERS.find((each) => each.key === key)!

const env = (secrets: Record<string, string>, key?: string, asFiles: string[] = []) =>
  agentEnvironment({ secrets, asFiles, provider: key === undefined ? null : provider(key), pointers: {} })

test.each([
  [env({ A: '1', B: '' }), { A: '1' }],
  [env({ A: '1', F: '2' }, undefined, ['F']), { A: '1' }],
  [env({ CLAUDECODE: '1' }), {}],
  [
    env({ CLAUDE_CODE_OAUTH_TOKEN: 't', ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'u' }),
    { CLAUDE_CODE_OAUTH_TOKEN: 't' },
  ],
  [env({ OPENAI_BASE_URL: 'u' }, 'codex'), { OPENAI_BASE_URL: 'u', CODEX_CONFIG: '{"openai_base_url":"u"}' }],
  [
    env({ OPENAI_BASE_URL: 'u', CODEX_CONFIG: '{"model_provider":"x"}' }, 'codex'),
    { OPENAI_BASE_URL: 'u', CODEX_CONFIG: '{"model_provider":"x"}' },
  ],
  [env({ OPENAI_BASE_URL: 'u', CODEX_CONFIG: '{' }, 'codex'), { OPENAI_BASE_URL: 'u', CODEX_CONFIG: '{' }],
])('the variables %o of an agent are %o', (made, expected) => {
  expect(made).toEqual(expected)
})
