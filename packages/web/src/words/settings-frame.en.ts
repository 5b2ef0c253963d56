/** Texts around the pages of the settings in English. */
export const frame = {
  title: 'Settings',
  label: 'Settings',
  back: 'Settings',
  sections: {
    model: { title: 'Model', text: 'Provider, name, address and key of the model of new conversations.' },
    secrets: { title: 'Secrets', text: 'Tokens and passwords for commands of agents.' },
    agents: { title: 'Agents', text: 'Model, tools and abilities of agents, and external agents.' },
    policy: { title: 'Policy', text: 'When an agent needs your approval, and how risks are rated.' },
  },
} as const
