/** Texts about the connection of the page to its server in English. */

export const live = {
  newVersion: 'A new version is here.',
  reload: 'Reload',
}
