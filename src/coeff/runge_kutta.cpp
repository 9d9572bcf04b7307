#include "coeff/runge_kutta.hpp"

#include <cstdint>

namespace kreisel::coeff {

namespace {

__extension__ using Wide = __int128;

/// An exact fraction in lowest terms with positive denominator, for the proof of the order conditions.
class Fraction {
 public:
  constexpr Fraction() = default;
  constexpr Fraction(std::int64_t top, std::int64_t bottom = 1) : Fraction(Reduce{}, top, bottom) {}
  constexpr double value() const { return static_cast<double>(top_) / static_cast<double>(bottom_); }

  friend constexpr Fraction operator+(Fraction x, Fraction y) {
    const Wide common = divisor(x.bottom_, y.bottom_);
    return {Reduce{}, x.top_ * (y.bottom_ / common) + y.top_ * (x.bottom_ / common), x.bottom_ / common * y.bottom_};
  }
  friend constexpr Fraction operator*(Fraction x, Fraction y) {
    const Fraction left(Reduce{}, x.top_, y.bottom_), right(Reduce{}, y.top_, x.bottom_);
    return {Reduce{}, left.top_ * right.top_, left.bottom_ * right.bottom_};
  }
  friend constexpr bool operator==(const Fraction&, const Fraction&) = default;

 private:
  struct Reduce {};
  constexpr Fraction(Reduce, Wide top, Wide bottom)
      : top_(top / divisor(top, bottom)), bottom_(bottom / divisor(top, bottom)) {}
  static constexpr Wide divisor(Wide x, Wide y) {
    if (x < 0) x = -x;
    while (y != 0) {
      const Wide rest = x % y;
      x = y;
      y = rest;
    }
    return x;
  }

  Wide top_ = 0, bottom_ = 1;
};

using Column = std::array<Fraction, 7>;

/// (Hairer, Nørsett, Wanner 1993, table II.5.2)
constexpr std::array<Column, 7> dp_a{{{},
                                      {{{1, 5}}},
                                      {{{3, 40}, {9, 40}}},
                                      {{{44, 45}, {-56, 15}, {32, 9}}},
                                      {{{19372, 6561}, {-25360, 2187}, {64448, 6561}, {-212, 729}}},
                                      {{{9017, 3168}, {-355, 33}, {46732, 5247}, {49, 176}, {-5103, 18656}}},
                                      {{{35, 384}, {0, 1}, {500, 1113}, {125, 192}, {-2187, 6784}, {11, 84}}}}};
constexpr Column dp_c{{{0, 1}, {1, 5}, {3, 10}, {4, 5}, {8, 9}, {1, 1}, {1, 1}}};
constexpr Column dp_b{{{35, 384}, {0, 1}, {500, 1113}, {125, 192}, {-2187, 6784}, {11, 84}, {0, 1}}};
/// b minus the embedded row of order 4.
constexpr Column dp_error{{{71, 57600}, {0, 1}, {-71, 16695}, {71, 1920}, {-17253, 339200}, {22, 525}, {-1, 40}}};
constexpr Column ones{{{1}, {1}, {1}, {1}, {1}, {1}, {1}}};

constexpr Fraction dot(const Column& x, const Column& y) {
  Fraction sum;
  for (int i = 0; i < 7; ++i) sum = sum + x[i] * y[i];
  return sum;
}
constexpr Column times(const Column& x, const Column& y) {
  Column product;
  for (int i = 0; i < 7; ++i) product[i] = x[i] * y[i];
  return product;
}
constexpr Column a_times(const Column& x) {
  Column product;
  for (int i = 0; i < 7; ++i) product[i] = dot(dp_a[i], x);
  return product;
}

/// Σ weight·φ(tree) = total / density(tree) for every rooted tree of at most that order, exactly.
constexpr bool meets_order_conditions(const Column& weight, std::int64_t total, int order) {
  const Column &c = dp_c, cc = times(c, c), ac = a_times(c), acc = a_times(cc), aac = a_times(ac);
  struct Tree {
    int order;
    Column phi;
    int density;
  };
  const std::array<Tree, 17> trees{{{1, ones, 1},
                                    {2, c, 2},
                                    {3, cc, 3},
                                    {3, ac, 6},
                                    {4, times(c, cc), 4},
                                    {4, times(c, ac), 8},
                                    {4, acc, 12},
                                    {4, aac, 24},
                                    {5, times(cc, cc), 5},
                                    {5, times(cc, ac), 10},
                                    {5, times(ac, ac), 20},
                                    {5, times(c, acc), 15},
                                    {5, times(c, aac), 30},
                                    {5, a_times(times(c, cc)), 20},
                                    {5, a_times(times(c, ac)), 40},
                                    {5, a_times(acc), 60},
                                    {5, a_times(aac), 120}}};
  for (const Tree& tree : trees)
    if (tree.order <= order && dot(weight, tree.phi) != Fraction(total, tree.density)) return false;
  return true;
}
static_assert(a_times(ones) == dp_c);
static_assert(dp_a[6] == dp_b);
static_assert(meets_order_conditions(dp_b, 1, 5));
static_assert(meets_order_conditions(dp_error, 0, 4) && !meets_order_conditions(dp_error, 0, 5));

constexpr Tableau rounded_dormand_prince() {
  Tableau t{};
  t.name = "dormand-prince-5";
  t.stages = 7;
  t.order = 5;
  t.reuses_last_stage = true;
  t.error_count = 1;
  t.error[0].order = 4;
  for (int i = 0; i < 7; ++i) {
    for (int j = 0; j < i; ++j) t.a[i][j] = dp_a[i][j].value();
    t.b[i] = dp_b[i].value();
    t.c[i] = dp_c[i].value();
    t.error[0].weight[i] = dp_error[i].value();
  }
  return t;
}

/// The published 30-digit decimals (Hairer, Nørsett, Wanner 1993, program DOP853).
constexpr Tableau decimal_dop853() {
  Tableau t{};
  t.name = "dop853";
  t.stages = 12;
  t.order = 8;
  t.reuses_last_stage = false;
  t.error_count = 2;

  t.c = {0.0,
         0.526001519587677318785587544488e-01,
         0.789002279381515978178381316732e-01,
         0.118350341907227396726757197510,
         0.281649658092772603273242802490,
         0.333333333333333333333333333333,
         0.25,
         0.307692307692307692307692307692,
         0.651282051282051282051282051282,
         0.6,
         0.857142857142857142857142857142,
         1.0};

  t.a[1][0] = 5.26001519587677318785587544488e-2;

  t.a[2][0] = 1.97250569845378994544595329183e-2;
  t.a[2][1] = 5.91751709536136983633785987549e-2;

  t.a[3][0] = 2.95875854768068491816892993775e-2;
  t.a[3][2] = 8.87627564304205475450678981324e-2;

  t.a[4][0] = 2.41365134159266685502369798665e-1;
  t.a[4][2] = -8.84549479328286085344864962717e-1;
  t.a[4][3] = 9.24834003261792003115737966543e-1;

  t.a[5][0] = 3.7037037037037037037037037037e-2;
  t.a[5][3] = 1.70828608729473871279604482173e-1;
  t.a[5][4] = 1.25467687566822425016691814123e-1;

  t.a[6][0] = 3.7109375e-2;
  t.a[6][3] = 1.70252211019544039314978060272e-1;
  t.a[6][4] = 6.02165389804559606850219397283e-2;
  t.a[6][5] = -1.7578125e-2;

  t.a[7][0] = 3.70920001185047927108779319836e-2;
  t.a[7][3] = 1.70383925712239993810214054705e-1;
  t.a[7][4] = 1.07262030446373284651809199168e-1;
  t.a[7][5] = -1.53194377486244017527936158236e-2;
  t.a[7][6] = 8.27378916381402288758473766002e-3;

  t.a[8][0] = 6.24110958716075717114429577812e-1;
  t.a[8][3] = -3.36089262944694129406857109825;
  t.a[8][4] = -8.68219346841726006818189891453e-1;
  t.a[8][5] = 2.75920996994467083049415600797e1;
  t.a[8][6] = 2.01540675504778934086186788979e1;
  t.a[8][7] = -4.34898841810699588477366255144e1;

  t.a[9][0] = 4.77662536438264365890433908527e-1;
  t.a[9][3] = -2.48811461997166764192642586468;
  t.a[9][4] = -5.90290826836842996371446475743e-1;
  t.a[9][5] = 2.12300514481811942347288949897e1;
  t.a[9][6] = 1.52792336328824235832596922938e1;
  t.a[9][7] = -3.32882109689848629194453265587e1;
  t.a[9][8] = -2.03312017085086261358222928593e-2;

  t.a[10][0] = -9.3714243008598732571704021658e-1;
  t.a[10][3] = 5.18637242884406370830023853209;
  t.a[10][4] = 1.09143734899672957818500254654;
  t.a[10][5] = -8.14978701074692612513997267357;
  t.a[10][6] = -1.85200656599969598641566180701e1;
  t.a[10][7] = 2.27394870993505042818970056734e1;
  t.a[10][8] = 2.49360555267965238987089396762;
  t.a[10][9] = -3.0467644718982195003823669022;

  t.a[11][0] = 2.27331014751653820792359768449;
  t.a[11][3] = -1.05344954667372501984066689879e1;
  t.a[11][4] = -2.00087205822486249909675718444;
  t.a[11][5] = -1.79589318631187989172765950534e1;
  t.a[11][6] = 2.79488845294199600508499808837e1;
  t.a[11][7] = -2.85899827713502369474065508674;
  t.a[11][8] = -8.87285693353062954433549289258;
  t.a[11][9] = 1.23605671757943030647266201528e1;
  t.a[11][10] = 6.43392746015763530355970484046e-1;

  t.b[0] = 5.42937341165687622380535766363e-2;
  t.b[5] = 4.45031289275240888144113950566;
  t.b[6] = 1.89151789931450038304281599044;
  t.b[7] = -5.8012039600105847814672114227;
  t.b[8] = 3.1116436695781989440891606237e-1;
  t.b[9] = -1.52160949662516078556178806805e-1;
  t.b[10] = 2.01365400804030348374776537501e-1;
  t.b[11] = 4.47106157277725905176885569043e-2;

  t.error[0].order = 5;
  t.error[0].weight[0] = 0.1312004499419488073250102996e-1;
  t.error[0].weight[5] = -0.1225156446376204440720569753e1;
  t.error[0].weight[6] = -0.4957589496572501915214079952;
  t.error[0].weight[7] = 0.1664377182454986536961530415e1;
  t.error[0].weight[8] = -0.3503288487499736816886487290;
  t.error[0].weight[9] = 0.3341791187130174790297318841;
  t.error[0].weight[10] = 0.8192320648511571246570742613e-1;
  t.error[0].weight[11] = -0.2235530786388629525884427845e-1;

  t.error[1].order = 3;
  t.error[1].weight = t.b;
  t.error[1].weight[0] -= 0.244094488188976377952755905512;
  t.error[1].weight[8] -= 0.733846688281611857341361741547;
  t.error[1].weight[11] -= 0.220588235294117647058823529412e-1;
  return t;
}

constexpr std::array<Tableau, 2> tableaux{rounded_dormand_prince(), decimal_dop853()};

}  // namespace

const Tableau& dormand_prince_5() { return tableaux[0]; }

const Tableau& dop853() { return tableaux[1]; }

std::span<const Tableau> runge_kutta_tableaux() { return tableaux; }

const Tableau* find_tableau(std::string_view name) {
  for (const Tableau& tableau : tableaux)
    if (tableau.name == name) return &tableau;
  return nullptr;
}

}  // namespace kreisel::coeff
