/** An edit that cannot be done as asked: the model is told why, the file stays as it is. */
export class Refusal extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Refusal'
  }
}
