import { expect, test } from 'vitest'
import { findRemote, type GitHost, type GitHosts, type GitToken } from './remote.ts'

const HOSTS: GitHosts = { gitlab: 'https://git.example.org/scm', enterprise_sso: 'http://10.0.0.1:3000' }
const find = (
  name: string,
  provider: string | null = null,
  tokens: Partial<Record<GitHost, GitToken>> = {},
  hosts: GitHosts = HOSTS,
) => findRemote({ name, provider }, { hosts, tokenOf: async (host) => tokens[host] ?? null })

test.each<[string, string | null, string]>([
  ['acme/shop', null, 'https://github.com/acme/shop.git'],
  ['acme/shop', 'github', 'https://github.com/acme/shop.git'],
  ['acme/shop', 'git_host_1', 'https://github.com/acme/shop.git'],
  ['acme/shop.git', 'bitbucket', 'https://bitbucket.org/acme/shop.git'],
  ['a/b/c/shop', 'git_host_2', 'https://git.example.org/scm/a/b/c/shop.git'],
  ['acme/shop', 'enterprise_sso', 'http://10.0.0.1:3000/acme/shop.git'],
  ['https://elsewhere.example.org/x/shop.git/', 'github', 'https://elsewhere.example.org/x/shop.git'],
])('the repository %s of provider %s has the address %s', async (name, provider, url) => {
  expect((await find(name, provider)).urls[0]).toBe(url)
})

test('the folder of a clone is the last part of the path without unsafe characters', async () => {
  expect((await find('a/b/shop.git')).directory).toBe('shop')
  expect((await find('a/~s+x')).directory).toBe('-s-x')
  expect((await find('https://git.example.org/scm/shop')).directory).toBe('shop')
})

test('without a provider, the first one with a stored token is used', async () => {
  const remote = await find('acme/shop', null, { bitbucket: { token: 't' } })
  expect(remote.slug).toBe('bitbucket.org/acme/shop')
  expect(remote.credential).toEqual({ scope: 'https://bitbucket.org', username: 'x-token-auth', password: 't' })
})

test('the provider of an address follows from its host', async () => {
  const remote = await find('https://git.example.org/scm/acme/shop', null, { gitlab: { token: 't' } })
  expect(remote.credential).toEqual({ scope: 'https://git.example.org', username: 'oauth2', password: 't' })
  expect(remote.agentLogin).toEqual({ variable: 'GITLAB_TOKEN', username: 'oauth2' })
})

test.each([
  ['another host', 'https://elsewhere.example.org/acme/shop'],
  ['a host with a longer name', 'https://git.example.org.evil.example/scm/acme/shop'],
  ['another port', 'https://git.example.org:8443/scm/acme/shop'],
  ['another path of the host', 'https://git.example.org/other/acme/shop'],
])('G1. %s is not sent a token', async (_, address) => {
  const remote = await find(address, 'gitlab', { gitlab: { token: 't' } })
  expect([remote.credential, remote.agentLogin]).toEqual([null, null])
})

test('the host stored with a token takes precedence over the configured one', async () => {
  const tokens = { gitlab: { token: 't', host: 'mine.example.org' } }
  const remote = await find('acme/shop', 'gitlab', tokens)
  expect(remote.slug).toBe('mine.example.org/acme/shop')
  expect(remote.credential?.scope).toBe('https://mine.example.org')
  expect((await find('https://git.example.org/scm/acme/shop', 'gitlab', tokens)).credential).toBeNull()
})

test('a token of Bitbucket may consist of an account and its password', async () => {
  const { credential } = await find('acme/shop', 'bitbucket', { bitbucket: { token: 'ann:app:word' } })
  expect(credential).toMatchObject({ username: 'ann', password: 'app:word' })
})

test.each<[string, string | null, Partial<Record<GitHost, GitToken>>]>([
  ['http://git.example.org/scm/acme/shop', null, {}],
  ['http://10.0.0.1/acme/shop', null, {}],
  ['acme/shop', 'github', { github: { token: 't', host: 'http://git.example.org' } }],
])('G2. no plain http request goes to %s of %s', async (name, provider, tokens) => {
  await expect(find(name, provider, tokens)).rejects.toMatchObject({ code: 'GIT$HOST_NOT_ALLOWED' })
})

test('a provider without an address is refused by its name', async () => {
  await expect(find('acme/shop', 'enterprise_sso', {}, {})).rejects.toMatchObject({
    code: 'GIT$PROVIDER_NOT_CONFIGURED',
    message: expect.stringContaining('git_hosts'),
  })
})
