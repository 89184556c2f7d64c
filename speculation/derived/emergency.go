package derived

const nowBenefit = 500 // how many times more its builds are worth
