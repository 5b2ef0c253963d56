/** Version of Parley; that of the agent-server contract is another one. */
export const VERSION = '0.1.0'
