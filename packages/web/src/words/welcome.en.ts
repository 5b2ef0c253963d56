/** Texts of the page of the first minute in English. */
export const welcome = {
  title: 'Welcome to Parley',
  lead: 'Agents work on the machine of this server, and you decide what they may do.',
  readOnly: 'Your key can read conversations and not start them.',
  demo: {
    title: 'See an agent at work',
    text: 'An agent finds the defect in a small project and fixes it, and you approve its change. A script stands in for the model, so no key is needed.',
    action: 'Watch the demo',
    starting: 'Starting …',
  },
  model: {
    title: 'Use a model of yours',
    text: 'Use an API key, or the address of a model on a machine of yours. It is checked before it is saved.',
    action: 'Add a model',
  },
  agents: {
    title: 'Use an installed agent',
    text: 'It works in a directory of the server, with its own model and login. Your policy and approvals apply.',
    none: 'None of these is installed on the server. Install one there with its command, then load this page again.',
    names: { 'claude-code': 'Claude Code', codex: 'Codex', 'gemini-cli': 'Gemini CLI' },
    installed: 'Installed',
    version: (version: string) => `Version ${version}`,
    logins: { secret: 'a key is stored', file: 'logged in' },
    noLogin: (secret: string) => `no login found: log in with the program, or store the secret ${secret}`,
    missing: 'Not installed.',
    use: (name: string) => `Use ${name}`,
    useShort: 'Use',
  },
} as const
