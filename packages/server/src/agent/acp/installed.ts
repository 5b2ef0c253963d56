/** The known agents as a new conversation would find them. No agent is started. Source: docs/acp.md, Starting. */
import { type AcpServer, ParleyError } from '@parley/protocol'
import { ACP_SERVERS } from '../../settings/index.ts'
import type { Workspace } from '../../workspace/index.ts'
import { PROVIDERS, type Provider } from './providers.ts'

const LOOK_MS = 10_000

/** Files in which a program keeps the login of a person, relative to the home. */
const LOGIN_FILES: Readonly<Record<Provider['key'], string>> = {
  'claude-code': '.claude/.credentials.json',
  codex: '.codex/auth.json',
  'gemini-cli': '.gemini/oauth_creds.json',
}

/** For each pair of a program and a file: where the program is, the name and version of its package, and whether the file exists. */
const SCRIPT = `while [ $# -gt 0 ]; do
  echo "program $1"
  found=$(command -v "$1") && {
    echo installed
    at=$(dirname "$(readlink -f "$found")")
    while [ "$at" != / ] && [ ! -f "$at/package.json" ]; do at=$(dirname "$at"); done
    [ -f "$at/package.json" ] && head -c 20000 "$at/package.json" | grep -oE '"(name|version)": *"[^"]*"'
  }
  [ -f "$HOME/$2" ] && echo login
  shift 2
done
exit 0`

export type InstalledDeps = {
  /** The user's place on the machine, with the path and the home of their commands. */
  workspace: Pick<Workspace, 'exec'>
  /** Names of the stored secrets of the user. */
  secretNames: readonly string[]
}

/** @throws ParleyError `unavailable` when no command can be executed. */
export async function knownAcpServers(deps: InstalledDeps, signal: AbortSignal): Promise<AcpServer[]> {
  const pairs = PROVIDERS.flatMap(({ key, binary }) => [binary, LOGIN_FILES[key]])
  const { exit_code, stdout } = await deps.workspace.exec(
    { argv: ['/bin/sh', '-c', SCRIPT, 'sh', ...pairs], timeoutMs: LOOK_MS },
    signal,
  )
  if (exit_code !== 0)
    throw new ParleyError('unavailable', 'The server could not look for installed agents. Try again.')
  const parts = new Map(
    stdout
      .split(/^program /m)
      .slice(1)
      .map((part): [string, string[]] => {
        const [binary = '', ...lines] = part.trim().split('\n')
        return [binary, lines]
      }),
  )
  return PROVIDERS.map((provider) => serverOf(provider, parts.get(provider.binary) ?? [], deps.secretNames))
}

function serverOf(provider: Provider, lines: readonly string[], secretNames: readonly string[]): AcpServer {
  const { key, packages, apiKey } = provider
  const memberOf = (name: string) =>
    lines.map((line) => new RegExp(`^"${name}": *"(.*)"$`).exec(line)?.[1]).find((value) => value !== undefined)
  // A wrapper may stand in the folder of another package.
  const isOwn = packages.includes(memberOf('name') ?? '')
  return {
    id: key,
    installed: lines.includes('installed'),
    version: isOwn ? (memberOf('version') ?? null) : null,
    login: secretNames.includes(apiKey) ? 'secret' : lines.includes('login') ? 'file' : null,
    secret_name: apiKey,
    install: `npm install -g ${ACP_SERVERS[key].command.find((word) => word.startsWith('@')) ?? ''}`,
  }
}
